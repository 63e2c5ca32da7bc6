"""The provider layer: requests out, typed stream events in, failures as the final event.

`registry` finds the provider of a model id. `openai_chat`, `openai_responses` and `anthropic` are the
providers, one for each wire format; `chat_*`, `responses_*` and `anthropic_*` write its requests and read
its answers, and know nothing of each other. What they share knows no format: `exchange` sends a request
over `connection` and tells what went wrong, `answer_reader` frames an answer with `sse`, `errors` judges
failures, `history`, `legal` and `schemas` make messages, names and tools such as can be sent, `pieces`
keeps what was written. `scripted` plays `script_file`s and logs requests as `neutral` says.

What there is to choose from: `provider_reader` makes a `ProviderConfig` of each entry in `presets.toml`,
the settings and the environment; `credentials` finds its key, `wire_formats` makes its provider.
`catalogue` knows limits and prices (`families.toml`, `price_data`), `ledger` what was spent.
"""
