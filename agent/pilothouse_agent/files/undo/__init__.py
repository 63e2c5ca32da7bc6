"""What runs did to files, kept so that it can be undone. Knows no disk but through the port of files."""
