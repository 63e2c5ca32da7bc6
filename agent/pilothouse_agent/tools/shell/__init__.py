"""The tool that runs commands, and the owner of every child process. Knows no other room of tools."""
