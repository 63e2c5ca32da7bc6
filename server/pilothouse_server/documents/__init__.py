"""What the editor has open, which folders, and what it reports of them. Changes nothing."""
