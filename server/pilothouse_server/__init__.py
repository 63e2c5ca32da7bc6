"""The front doors: the server behind an editor, the command line, the headless client."""

__version__ = "0.1.0"
