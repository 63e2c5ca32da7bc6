"""What a release runs; nothing of it is installed."""
