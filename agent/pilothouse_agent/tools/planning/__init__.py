"""Tools that touch nothing: the todo list and questions to the user. Knows no other room of tools."""
