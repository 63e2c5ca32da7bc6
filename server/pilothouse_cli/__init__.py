"""The command line, a client of the server like any other. Nobody knows it."""
