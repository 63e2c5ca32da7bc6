"""The wire format of Chat Completions, of OpenAI and of the many that took it over.
Knows `http` and `history`; only `choosing` loads it."""
