"""Changes through the editor, of files that are open in it and of files that are not."""
