"""The wire format of OpenAI's Responses API. Knows `http` and `history`; only `choosing` loads it."""
