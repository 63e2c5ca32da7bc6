"""The wire format of Anthropic's Messages API. Knows `http` and `history`; only `choosing` loads it."""
