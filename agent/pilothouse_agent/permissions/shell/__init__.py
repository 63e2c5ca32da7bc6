"""The reader of command lines: which simple commands are in a text. Judges nothing, knows no rule."""
