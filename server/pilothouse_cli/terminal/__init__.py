"""What a terminal shows of a run. Knows no connection."""
