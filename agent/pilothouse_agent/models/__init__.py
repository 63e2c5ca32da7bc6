"""The provider layer: requests out, typed stream events in, failures as the final event.

`registry` finds the provider of a model id. A wire format is a few siblings: `openai_chat` (the
provider), `chat_request` (writes), `chat_stream` with `chat_calls`, `chat_thinking` and `chat_tables`
(reads). All share `connection` (HTTP), `sse` (framing), `errors` (judging failures), `pieces` (history
serialised once) and `wire_json`. `scripted` plays `script_file`s and logs requests as `neutral` says.
"""
