"""The transcript made such that a wire format can take it. Knows no wire format and no network."""
