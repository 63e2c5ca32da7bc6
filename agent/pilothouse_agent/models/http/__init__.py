"""One request and its answer: connection, framing, limits in time, and what failures mean.
Knows no wire format."""
