"""Recorded and hand-made answers of many providers, kept beside the project, give the outcome beside them."""

from __future__ import annotations

from typing import Any

import pytest

from pilothouse_agent.kernel.request import StreamEvent
from pilothouse_agent.models.http.errors import Source, http_error
from pilothouse_agent.models.http.timeouts import Timeouts
from support.asking import MakeProvider, ask, model_request
from support.model_server import ModelServer
from support.outcomes import camel, missing, outcome_of, wanted_of
from support.readers import WIRES, reader_for
from support.recordings import NOW, body_of, cases, clean, cuts, played

AT_ODDS = ("or-openai-server-tool-b56d04",)
"""Their last events tell another text than their deltas did; what was handed out cannot be taken back."""


def _model(meta: Any) -> str:
    return f"{WIRES[meta['wire']]}/{meta['model'] or 'test-model'}"


def _check(meta: Any, events: list[StreamEvent]) -> None:
    outcome = outcome_of(events, _model(meta))
    expected = wanted_of(meta, outcome)
    if meta["id"] in AT_ODDS:
        del expected["text"]
    assert {key: outcome[key] for key in expected} == expected


@pytest.mark.parametrize("meta", cases("stream"))
async def test_a_recorded_stream_gives_the_outcome_beside_it(
    meta: Any, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(played(meta))
    asked = provider(WIRES[meta["wire"]], timeouts=Timeouts(5, 0.4))
    _check(meta, await ask(asked, model_request(model=_model(meta))))


@pytest.mark.parametrize("meta", cases("stream", largest=100_000))
def test_a_recorded_stream_gives_the_same_however_it_is_cut(meta: Any) -> None:
    whole = reader_for(meta["wire"], _model(meta))
    events = [*whole.feed(body_of(meta)), *whole.end()]
    if clean(meta):
        _check(meta, events)
    for pieces in cuts(meta):
        reader = reader_for(meta["wire"], _model(meta))
        assert [*(event for piece in pieces for event in reader.feed(piece)), *reader.end()] == events


@pytest.mark.parametrize("meta", cases("http-error"))
def test_a_recorded_error_body_is_judged_as_stated(meta: Any) -> None:
    wanted, accept = meta["expected"]["error"], meta["expected"].get("accept", {})
    headers = {name.lower(): value for name, value in meta["http"]["headers"].items()}

    error = http_error(Source(meta["provider"]), meta["http"]["status"], headers, body_of(meta), now=NOW)

    assert camel(error.kind) in (wanted["kind"] if isinstance(wanted["kind"], list) else [wanted["kind"]])
    assert wanted["retryable"] in (error.retryable, None)
    assert error.retry_after in accept.get("error.retry_after_s", [wanted["retry_after_s"]])
    assert missing(wanted, error.message) == []
    assert error.message.startswith(f"{meta['provider']} answered {meta['http']['status']}")
