"""Tools that read and change files, through the port of `files`. Knows no other room of tools."""
