"""What the user's file, the environment, the editor and the command line choose, as values with their origin.
Knows models, permissions and files by their nouns; sessions and the command line know it."""
