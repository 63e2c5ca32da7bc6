"""What a client is told of params that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from pilothouse_server.protocol.models import PromptParams
from pilothouse_server.protocol.violations import validated
from pilothouse_server.wire.faults import INVALID_PARAMS, RequestFault


@pytest.mark.covers("R274")
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"text": " "}, "the message is empty"),
        ({"content": []}, "the message is empty"),
        ({}, "give either text or content"),
        ({"text": "Hi", "content": [{"type": "text", "text": "Hi"}]}, "give either text or content"),
    ],
)
def test_a_violation_is_said_without_the_words_of_the_library(params: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestFault) as raised:
        validated(PromptParams, params, "agent/prompt")

    assert (raised.value.code, raised.value.data) == (
        INVALID_PARAMS,
        {"violations": [{"path": "", "message": message}]},
    )
