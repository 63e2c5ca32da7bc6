"""Judging failures: typed codes and statuses first, wordings last, keys never shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.kernel.messages import ErrorInfo, ErrorKind
from pilothouse_agent.models.http.error_table import ADVICE
from pilothouse_agent.models.http.errors import Source, http_error, stream_error

SOURCE = Source("p", "P_KEY", ("SENTINEL-key-123",))
FAULT = "The fault is the provider's: try again later."
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PHRASES = Path(__file__).parents[3] / "shared" / "streams" / "overflow_phrases.json"


def _judged(status: int, body: Any, headers: dict[str, str] | None = None) -> ErrorInfo:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return http_error(SOURCE, status, headers or {}, content, now=NOW)


def _said(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


CASES: list[tuple[int, Any, ErrorKind, bool]] = [
    (400, _said("no", code="context_length_exceeded"), "contextOverflow", False),
    (400, _said("prompt is too long: 9 tokens > 8 maximum"), "contextOverflow", False),
    (400, _said("Invalid id: string too long, at most 40"), "invalidRequest", False),
    (400, {"error": "Incorrect API key provided"}, "auth", False),
    (400, _said("x/y is not a valid model ID"), "modelNotFound", False),
    (400, _said("Your credit balance is too low"), "quota", False),
    (400, _said("flagged by the safety system"), "contentFilter", False),
    (400, _said("no", code="content_policy_violation"), "contentFilter", False),
    (400, _said("bad", code="tool_use_failed"), "toolCallInvalid", True),
    (400, _said("call_429 in messages[429] is 429 bytes"), "invalidRequest", False),
    (400, None, "invalidRequest", False),
    (401, _said("anything", type="server_error"), "auth", False),
    (402, b"", "quota", False),
    (403, b"<html><title>Just a moment</title></html>", "permission", False),
    (403, _said("The request was flagged by moderation"), "contentFilter", False),
    (404, b"404 page not found", "notFound", False),
    (404, _said('model "q" not found, try pulling it first'), "modelNotFound", False),
    (404, _said("Item with id 'rs_1' not found."), "invalidRequest", False),
    (408, b"", "timeout", True),
    (413, b"<html>too large</html>", "tooLarge", False),
    (413, _said("please reduce your message size", code="rate_limit_exceeded"), "contextOverflow", False),
    (422, {"detail": [{"loc": ["body", "model"], "msg": "Field required"}]}, "invalidRequest", False),
    (429, _said("slow down"), "rateLimit", True),
    (429, _said("slow down", code="insufficient_quota"), "quota", False),
    (429, _said("You exceeded your current quota, check your plan and billing"), "quota", False),
    (429, _said("You exceeded your current quota. Please retry in 34s."), "rateLimit", True),
    (429, _said("Need more? See https://example.com/settings/billing"), "rateLimit", True),
    (429, _said("Request too large for m on tokens per min"), "contextOverflow", False),
    (500, _said("Internal error"), "serverError", True),
    (500, _said("the request exceeds the available context size"), "contextOverflow", False),
    (500, _said("Jinja Exception: roles must alternate"), "invalidRequest", False),
    (500, _said('proxy: {"error":{"type":"rate_limit_error"}}'), "rateLimit", True),
    (502, b"<html><title>Bad gateway</title></html>", "serverError", True),
    (503, _said("Loading model"), "overloaded", True),
    (504, b"", "timeout", True),
    (529, _said("Overloaded", type="overloaded_error"), "overloaded", True),
    (302, b"", "badResponse", False),
]


@pytest.mark.covers(
    "R161", "R164", "K80", "K81", "K82", "W142", "W161", "W162", "W166", "W167", "W168", "W170"
)
@pytest.mark.parametrize(("status", "body", "kind", "retryable"), CASES)
def test_status_code_and_words_give_the_kind(
    status: int, body: Any, kind: ErrorKind, retryable: bool
) -> None:
    error = _judged(status, body)
    assert (error.kind, error.retryable, error.status) == (kind, retryable, status)


STREAM_CASES: list[tuple[Any, ErrorKind, bool]] = [
    (_said("Provider disconnected", code=502), "serverError", True),
    (_said("slow down", code="429"), "rateLimit", True),
    (_said("bad", type="invalid_request_error"), "invalidRequest", False),
    ({"object": "error", "message": "maximum context length is 5", "code": 400}, "contextOverflow", False),
    ("model runner has unexpectedly stopped", "serverError", True),
    ({"type": "error", "error": {"type": "overloaded_error", "message": ""}}, "overloaded", True),
    (None, "serverError", True),
]


@pytest.mark.covers("W16", "W52")
@pytest.mark.parametrize(("value", "kind", "retryable"), STREAM_CASES)
def test_an_error_inside_an_answer_is_judged_by_the_same_tables(
    value: Any, kind: ErrorKind, retryable: bool
) -> None:
    error = stream_error(SOURCE, value)
    assert (error.kind, error.retryable) == (kind, retryable)


@pytest.mark.covers("W163")
def test_the_header_that_says_whether_to_retry_decides_but_for_what_no_retry_heals() -> None:
    said = [
        _judged(status, {}, {"x-should-retry": word}).retryable
        for status in (500, 418, 401)
        for word in ("true", "false", "")
    ]
    assert said == [True, False, True, False, False, False, False, False, False]


MESSAGES = [
    ({"error": {"message": "a\n  b"}}, "p answered 500: a b."),
    ({"error": "a!"}, "p answered 500: a!"),
    ({"message": {"detail": [{"msg": "a"}, {"msg": "b"}]}}, "p answered 500: a: b."),
    ([{"error": {"message": "a"}}], "p answered 500: a."),
    ({"errors": [{"message": "a"}], "request_id": "r1"}, "p answered 500: a. (request r1)"),
    ({"error": {"message": "up", "metadata": {"raw": '{"message":"down"}'}}}, "p answered 500: up: down."),
    ({"detail": [{"loc": ["body", "n"], "msg": "a"}]}, "p answered 500: body.n: a."),
    (b"<!DOCTYPE html><title>520 &amp; more</title>",
     "p answered 500: a text/html page titled “520 & more” instead of an answer."),
    (b"plain words", "p answered 500: plain words."),
    ("inconnu: \xe9".encode("latin-1"), "p answered 500: inconnu: é."),
    (b'{"error": {"mess', 'p answered 500: {"error": {"mess.'),
    (b"", "p answered 500."),
    (None, "p answered 500."),
    ({"error": {"message": "bad key SENTINEL-key-123"}}, "p answered 500: bad key [key]."),
    ({"error": {"message": "bad key sk-proj-AbCdEfGhIjKl123"}}, "p answered 500: bad key [key]."),
]  # fmt: skip


@pytest.mark.covers("R175", "W165")
@pytest.mark.parametrize(("body", "message"), MESSAGES)
def test_any_body_becomes_one_clear_line_without_a_key(body: Any, message: str) -> None:
    said, _, request = message.partition(" (")
    assert _judged(500, body).message == f"{said} {FAULT}" + (f" ({request}" if request else "")


@pytest.mark.parametrize("name", ADVICE)
def test_every_failure_names_provider_status_and_request_and_says_who_should_do_what(
    name: ErrorKind,
) -> None:
    status, body = next((status, body) for status, body, kind, _ in CASES if kind == name)
    message = _judged(status, body, {"x-request-id": "req_7"}).message
    assert message.startswith(f"p answered {status}")
    assert message.endswith(f". {ADVICE[name].format(key=' in P_KEY')} (request req_7)")


def test_the_advice_is_for_every_kind_that_a_provider_can_answer_with() -> None:
    ours = {"connectionLost", "incompleteStream", "unknown", "maxTurns", "loop", "guard", "internal"}
    assert set(ADVICE) == set(get_args(ErrorKind)) - ours


WAITS: list[tuple[dict[str, str], str, float | None]] = [
    ({"retry-after": "7"}, "", 7.0),
    ({"retry-after": "1.5"}, "", 1.5),
    ({"retry-after": "0"}, "", 0.0),
    ({"retry-after": "-3"}, "", 0.0),
    ({"retry-after": "soon"}, "", None),
    ({"retry-after": "inf"}, "", None),
    ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, "", 30.0),
    ({"retry-after": "Sun, 01 Mar 2026 11:59:00 GMT"}, "", 0.0),
    ({"retry-after": "Sun, 01 Mar 99999999999999 11:59:00 GMT"}, "", None),
    ({"retry-after-ms": "1250", "retry-after": "2"}, "", 1.25),
    ({"retry-after": "2"}, "try again in 9s", 2.0),
    ({}, "Please try again in 1h4m0.5s.", 3840.5),
    ({}, "Please try again in 93ms. Visit us.", 0.093),
    ({}, "Please retry after 26 seconds", 26.0),
    ({}, "wait 2 minutes", 120.0),
    ({}, "try again in a while, 5s of 429", None),
    ({}, "retry 3 times", None),
]


@pytest.mark.covers("R160", "W160")
@pytest.mark.parametrize(("headers", "text", "seconds"), WAITS)
def test_how_long_to_wait_is_read_from_headers_then_words(
    headers: dict[str, str], text: str, seconds: float | None
) -> None:
    assert _judged(429, _said(text), headers).retry_after == seconds


@pytest.mark.covers("W160")
def test_how_long_to_wait_is_read_from_the_details_before_the_words() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]
    error = _judged(429, _said("Please retry in 34.07s.", details=details))
    assert error.retry_after == 34.0


KEYS = st.sampled_from(["error", "message", "code", "type", "detail", "loc", "msg", "raw"]) | st.text()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)


@pytest.mark.slow
@given(st.integers(300, 599), st.binary() | JSON.map(lambda value: json.dumps(value).encode()), st.text())
def test_no_body_and_no_header_can_break_the_judging(status: int, body: bytes, header: str) -> None:
    headers = {"retry-after": header, "retry-after-ms": header, "x-should-retry": header}
    assert _judged(status, body, headers).status == status


def _phrases(kind: str) -> list[Any]:
    if not PHRASES.exists():
        return [pytest.param("", marks=pytest.mark.skip("the shared phrases are not beside this project"))]
    return [item["text"] for item in json.loads(PHRASES.read_bytes())[kind]]


@pytest.mark.parametrize("text", _phrases("positive"))
def test_a_known_overflow_wording_is_recognised(text: str) -> None:
    assert _judged(400, _said(text)).kind == "contextOverflow"


@pytest.mark.parametrize("text", _phrases("negative"))
def test_a_wording_that_only_looks_like_overflow_is_not(text: str) -> None:
    assert "contextOverflow" not in {_judged(status, _said(text)).kind for status in (400, 429, 500)}


CUT: dict[str, tuple[Any, dict[str, str]]] = {
    "text": (_said("w" * 1_990 + " SENTINEL-key-123"), {}),
    "a text of no known name": ({"odd": "w" * 1_990 + " SENTINEL-key-123"}, {}),
    "title": (b"<html><title>" + b"t" * 190 + b"SENTINEL-key-123</title>", {}),
    "request id": (_said("no"), {"x-request-id": "i" * 90 + "SENTINEL-key-123"}),
}


@pytest.mark.covers("R175")
@pytest.mark.parametrize("where", CUT)
def test_what_is_cut_off_shows_no_half_of_a_key(where: str) -> None:
    body, headers = CUT[where]
    assert "SENTINEL" not in _judged(400, body, headers).message


def test_a_message_cannot_steer_a_terminal() -> None:
    message = _judged(500, _said("\x1b[2Jgone\x07 \x9b1m")).message
    assert message == f"p answered 500: \ufffd[2Jgone\ufffd \ufffd1m. {FAULT}"
