"""`pilothouse run`: one prompt, shown as it happens. Knows `terminal`."""
