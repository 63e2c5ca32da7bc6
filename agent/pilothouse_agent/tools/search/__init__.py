"""Tools that find files and what is in them. Knows `tools.files` for paths and `tools.shell` for children."""
