"""History made by one provider goes to any other: judged by the rules of strict providers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse_agent.kernel.transcript import convert, repair
from support.conversions import body_for, cases, history_of, problems, request_of


@pytest.mark.parametrize("repaired", [False, True], ids=["as it is", "repaired by the kernel"])
@pytest.mark.parametrize(("case", "target"), cases())
def test_a_history_goes_to_a_strict_provider(case: Any, target: str, repaired: bool) -> None:
    messages = history_of(case, target)
    if repaired:
        messages = convert(repair(messages))

    body = body_for(request_of(case, target, messages), case, target)

    assert problems(body, target) == []
    sent = json.dumps(body, ensure_ascii=False)
    assert [text for text in case["must_keep"] if text not in sent and not _lost(case, repaired)] == []
    assert [text for text in case["must_not_send"] if text in sent] == []


def _lost(case: Any, repaired: bool) -> bool:
    """The kernel lets no two calls have one id and stores one result for each: its repair takes the first."""
    return repaired and case["id"] in ("c-double-ids-parallel", "c-result-double")
