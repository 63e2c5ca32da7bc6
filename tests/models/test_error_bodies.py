"""Bodies of failures as the servers of many providers put them, and how long they ask us to wait."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import ErrorInfo, ErrorKind
from pilothouse_agent.models.http.errors import Source, http_error, stream_error

SOURCE = Source("p")
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def _judged(status: int, body: Any, headers: dict[str, str] | None = None) -> ErrorInfo:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return http_error(SOURCE, status, headers or {}, content, now=NOW)


def _error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


SHAPES: list[tuple[int, Any, ErrorKind]] = [
    (400, {"Message": "the model identifier is invalid"}, "modelNotFound"),
    (400, {"__type": "com.example#ThrottlingException", "message": "no"}, "rateLimit"),
    (404, {"title": "Not Found", "status": 404, "type": "about:blank"}, "notFound"),
    (400, {"errors": [{"description": "Model x not found", "key": "k"}]}, "modelNotFound"),
    (400, {"failure": {"words": ["prompt is too long"]}}, "contextOverflow"),
    (400, {"error_code": "BUDGET_EXCEEDED", "error_message": "no"}, "quota"),
    (400, {"base_resp": None, "data": {"error": {"code": "InvalidApiKey"}}}, "auth"),
    (400, _error("no", innererror={"code": "ResponsibleAIPolicyViolation"}), "contentFilter"),
    (500, _error("RateLimitError: b'{\"type\":\"rate_limit_error\"}'. Model group: g"), "rateLimit"),
    (500, _error("Error code: 400 - {'error': {'code': 'context_length_exceeded'}}"), "contextOverflow"),
    (500, b'event: error\ndata: {"error":{"type":"overloaded_error","message":"x"}}\n\n', "overloaded"),
    (400, b'data: {"error":{"code":"context_length_exceeded"}}\n\ndata: [DONE]\n\n', "contextOverflow"),
    (400, b'{"error":{"message":"prompt is too long', "contextOverflow"),
    (400, _error("up", metadata={"raw": '{"error":{"code":"context_length_exceeded"}}'}), "contextOverflow"),
    (502, _error("up", upstream_error={"error": {"type": "rate_limit_error"}}), "rateLimit"),
    (400, {"statusCode": 400, "message": "Incorrect API key."}, "auth"),
]  # fmt: skip

CODES: list[tuple[int, Any, ErrorKind]] = [
    (400, _error("no", type="RateLimitError"), "rateLimit"),
    (400, _error("no", code="DataInspectionFailed"), "contentFilter"),
    (400, _error("no", code="Arrearage"), "quota"),
    (429, _error("no", type="exceeded_current_quota_error"), "quota"),
    (503, _error("no", code="model_not_found"), "modelNotFound"),
    (400, _error("no", code="organization_restricted"), "permission"),
    (424, _error("no"), "serverError"),
    (501, _error("no", type="not_supported_error"), "invalidRequest"),
]

WORDS: list[tuple[int, str, ErrorKind]] = [
    (400, "The decoder prompt (length 9) is longer than the maximum model length of 8.", "contextOverflow"),
    (400, "Input length (9 tokens) exceeds the maximum allowed length (8 tokens).", "contextOverflow"),
    (400, "Prompt length 9 is greater than max_seq_len 8", "contextOverflow"),
    (400, "Range of input length should be [1, 8]", "contextOverflow"),
    (400, "the number of input tokens 9 cannot exceed the limit 8 for this model", "contextOverflow"),
    (400, "x.ContextWindowExceededError: no", "contextOverflow"),
    (413, "This model's maximum context length is 8 tokens.", "contextOverflow"),
    (400, "Invalid 'messages[1].content': string too long.", "contextOverflow"),
    (400, "Invalid 'input[1].call_id': string too long.", "invalidRequest"),
    (400, "输入超过模型的最大上下文长度", "contextOverflow"),
    (403, "Your team doesn't have any credits yet", "quota"),
    (412, "suspended for reaching the monthly spending limit", "quota"),
    (429, "用户额度不足", "quota"),
    (500, "insufficient balance (1008)", "quota"),
    (403, "Your API key was reported as leaked.", "auth"),
    (400, "Authentication error", "auth"),
    (403, "Content violates usage guidelines.", "contentFilter"),
    (400, "系统检测到敏感内容", "contentFilter"),
    (404, "No endpoints found for a/b.", "modelNotFound"),
    (404, "No endpoints found that support tool use.", "invalidRequest"),
    (503, "Model x is currently loading", "overloaded"),
    (503, "Service is too busy.", "overloaded"),
    (403, "API rate limit exceeded", "rateLimit"),
    (500, "Conversation roles must alternate user/assistant", "invalidRequest"),
    (504, "no", "timeout"),
]


SAID: list[tuple[int, Any, ErrorKind]] = [(status, _error(text), kind) for status, text, kind in WORDS]


@pytest.mark.covers("R161", "R164", "W161", "W162", "W165", "W166", "W167", "W168")
@pytest.mark.parametrize(("status", "body", "kind"), [*SHAPES, *CODES, *SAID])
def test_the_kind_is_found_in_any_shape_code_or_wording(status: int, body: Any, kind: ErrorKind) -> None:
    assert _judged(status, body).kind == kind


OVERFLOWS = [
    "The input exceeds the context window of m.",
    "m has a maximum context length of 8 tokens; its maximum context length is 8.",
    "Your context size has been exceeded: shift the context or shorten it.",
    "The prompt does not fit: it exceeds the available context size of m.",
    "Prompt token count of 9 exceeds the limit, which is 8.",
    "The input token count 9 exceeds what m allows.",
    "The input is too long for m.",
    "Your input is longer than the model's context length.",
    "Exceeded model token limit: 8.",
    "Too big (size limit exceeded by 3 tokens).",
    "Current length is 9 while limit is 8.",
    "Please reduce the length of the messages.",
    "max_tokens must be at least 1, got -7.",
    "`inputs` tokens + `max_new_tokens` must be at most 8.",
    "m: request exceeds the maximum size.",
]
NO_OVERFLOWS = [
    "Invalid 'tools[1].function.name': string too long, at most 64 characters.",
    "The tool name has a length that cannot exceed 64.",
    "max_tokens: 90 > 64, which is more than m may write.",
    "Too many tokens, please wait a while.",
    "The limit of 40 input tokens per minute would be exceeded; try again later.",
    "The image exceeds the allowed size of 5 MB.",
]


@pytest.mark.covers("W168")
@pytest.mark.parametrize(
    ("text", "overflows"), [*((text, True) for text in OVERFLOWS), *((text, False) for text in NO_OVERFLOWS)]
)
def test_a_full_window_is_told_from_what_only_sounds_like_it(text: str, overflows: bool) -> None:
    nested = _error("up", metadata={"raw": json.dumps(_error(text))})
    errors = [_judged(400, _error(text)), _judged(500, nested), stream_error(SOURCE, _error(text))]
    assert [error.kind == "contextOverflow" for error in errors] == [overflows] * 3


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("model 'x' not found", "modelNotFound"),
        (_error("model 'x' not found", type="api_error"), "modelNotFound"),
        (_error("Request too large for m"), "contextOverflow"),
        (_error("Too many tokens, please wait before trying again."), "rateLimit"),
        (_error("boom", type="InternalServerError"), "serverError"),
        (_error("no", type="NotFoundError"), "notFound"),
    ],
)
def test_without_a_status_the_words_may_say_all(value: Any, kind: ErrorKind) -> None:
    assert stream_error(SOURCE, value).kind == kind


@pytest.mark.covers("W161")
def test_credit_that_is_used_up_stays_so_whatever_time_to_wait_is_stated() -> None:
    errors = [
        _judged(429, _error(text), {"retry-after": "1"})
        for text in ("Insufficient balance", "You exceeded your current quota")
    ]
    assert [(error.kind, error.retryable) for error in errors] == [("quota", False), ("rateLimit", True)]


@pytest.mark.covers("W165")
@pytest.mark.parametrize(
    "body", [b"<p>no</p>", b'<?xml version="1.0"?><a/>', b'{"error":"<html></html>"}', b'["<h1>no</h1>"]']
)
def test_markup_is_never_shown(body: bytes) -> None:
    message = _judged(500, body).message
    assert "text/html page" in message
    assert "<" not in message


WAITS: list[tuple[dict[str, str], Any, float | None]] = [
    ({"retry-after": "30s"}, {}, 30.0),
    ({"retry-after": "1m30s"}, {}, 90.0),
    ({"retry-after": "2026-03-01T12:00:30Z"}, {}, 30.0),
    ({"retry-after": "Sunday, 01-Mar-26 12:00:30 GMT"}, {}, 30.0),
    ({"retry-after": str(int(NOW.timestamp()) + 40)}, {}, 40.0),
    ({"retry-after-ms": "soon", "retry-after": "3"}, {}, 3.0),
    ({"retry-after": "3"}, {"retry_after": 9}, 3.0),
    ({}, {"retry_after": 12.5}, 12.5),
    ({}, {"retry_after_ms": "1500"}, 1.5),
    ({}, {"details": [{"retryDelay": "3s"}], "message": "try again in 9s"}, 3.0),
    ({}, {"details": [{"retryDelay": {"seconds": "34", "nanos": 500_000_000}}]}, 34.5),
    ({}, {"retryDelay": {"seconds": [], "nanos": "x"}, "retry_after": True}, None),
    ({}, {"message": "Limit resets in 5m 3s."}, 303.0),
    ({}, {"message": "Please retry your request after about 10 seconds"}, 10.0),
]


@pytest.mark.covers("R160", "W160")
@pytest.mark.parametrize(("headers", "body", "seconds"), WAITS)
def test_how_long_to_wait_is_read_in_any_form(
    headers: dict[str, str], body: Any, seconds: float | None
) -> None:
    assert _judged(429, {"error": body}, headers).retry_after == seconds
