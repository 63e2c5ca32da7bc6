"""What statuses, typed codes and wordings of providers mean. Data; the order of judging is in errors.py."""

from __future__ import annotations

import re
from typing import NamedTuple

from pilothouse_agent.kernel.messages import ErrorKind

__all__ = ["ADVICE", "BROAD_CODES", "CODES", "FINAL", "RETRYABLE", "STATUSES", "WORDINGS", "Wording"]

STATUSES: dict[int, ErrorKind] = {
    401: "auth",
    402: "quota",
    403: "permission",
    404: "notFound",
    408: "timeout",
    409: "overloaded",
    413: "tooLarge",
    425: "overloaded",
    429: "rateLimit",
    498: "overloaded",
    504: "timeout",
    522: "timeout",
    524: "timeout",
    529: "overloaded",
}
"""Statuses with a meaning of their own; other 4xx are invalidRequest, other 5xx serverError."""

CODES: dict[str, ErrorKind] = {
    "context_length_exceeded": "contextOverflow",
    "exceed_context_size_error": "contextOverflow",
    "model_max_prompt_tokens_exceeded": "contextOverflow",
    "too_many_prompt_tokens": "contextOverflow",
    "too_many_tokens": "contextOverflow",
    "request_too_large": "tooLarge",
    "authentication_error": "auth",
    "invalid_api_key": "auth",
    "api_key_invalid": "auth",
    "unauthenticated": "auth",
    "permission_error": "permission",
    "permission_denied": "permission",
    "unsupported_country_region_territory": "permission",
    "insufficient_quota": "quota",
    "quota_exceeded": "quota",
    "quota_exhausted": "quota",
    "insufficient_balance": "quota",
    "insufficient_credits": "quota",
    "billing_error": "quota",
    "billing_not_active": "quota",
    "billing_hard_limit_reached": "quota",
    "payment_required": "quota",
    "model_not_found": "modelNotFound",
    "invalid_model": "modelNotFound",
    "deploymentnotfound": "modelNotFound",
    "model_not_available": "modelNotFound",
    "rate_limit_exceeded": "rateLimit",
    "rate_limit_error": "rateLimit",
    "rate_limit_reached": "rateLimit",
    "ratelimitreached": "rateLimit",
    "too_many_requests": "rateLimit",
    "throttlingexception": "rateLimit",
    "overloaded_error": "overloaded",
    "overloaded": "overloaded",
    "engine_overloaded": "overloaded",
    "engine_overloaded_error": "overloaded",
    "service_tier_capacity_exceeded": "overloaded",
    "service_unavailable": "overloaded",
    "slow_down": "overloaded",
    "timeout_error": "timeout",
    "deadline_exceeded": "timeout",
    "content_filter": "contentFilter",
    "content_policy_violation": "contentFilter",
    "responsibleaipolicyviolation": "contentFilter",
    "data_inspection_failed": "contentFilter",
    "moderation_blocked": "contentFilter",
    "tool_use_failed": "toolCallInvalid",
}
"""Typed codes that say exactly what is wrong; they come before the status."""

BROAD_CODES: dict[str, ErrorKind] = {
    "invalid_request_error": "invalidRequest",
    "invalid_request": "invalidRequest",
    "invalid_argument": "invalidRequest",
    "invalid-argument": "invalidRequest",
    "badrequesterror": "invalidRequest",
    "bad_request_error": "invalidRequest",
    "not_found_error": "notFound",
    "not_found": "notFound",
    "resource_exhausted": "rateLimit",
    "unavailable": "overloaded",
    "unavailable_error": "overloaded",
    "provider_unavailable": "overloaded",
    "server_error": "serverError",
    "api_error": "serverError",
    "internal_error": "serverError",
    "internal": "serverError",
}
"""Typed codes that providers use for many things; they count only where there is no status."""


class Wording(NamedTuple):
    kind: ErrorKind
    pattern: re.Pattern[str]
    refines: frozenset[ErrorKind]
    """The kinds, judged by status and code, that the words may change."""


def _wording(kind: ErrorKind, refines: str, *patterns: str) -> Wording:
    kinds: frozenset[ErrorKind] = frozenset(refines.split())  # pyright: ignore[reportAssignmentType]
    return Wording(kind, re.compile("|".join(patterns), re.IGNORECASE | re.DOTALL), kinds)


WORDINGS: tuple[Wording, ...] = (
    _wording(
        "contextOverflow",
        "invalidRequest serverError unknown",
        r"prompt (?:is )?too long",
        r"context (?:window|length|size|limit)s?\b.{0,60}(?:exceed|not enough|too small)",
        r"exceed\w*.{0,40}\bcontext (?:window|length|size|limit)",
        r"\bmax(?:imum)? (?:context|prompt) length\b",
        r"context the overflows|context (?:window )?overflow|model_context_window_exceeded",
        r"input token count.{0,40}exceeds",
        r"input tokens? exceed|number of input tokens exceeds|input tokens.{0,20}configured limit",
        r"prompt token count of \d+ exceeds",
        r"exceeded model token limit",
        r"input is too long|(?:input|prompt) is longer than",
        r"(?:greater|longer) than the (?:model.?s )?context length",
        r"reduce the length of (?:the messages|the prompt|the input|either one)",
        r"total length of all messages is too long",
        r"size limit exceeded by \d+ tokens",
        r"current length is \d+ while limit is \d+",
        r"max_tokens must be at least 1, got -",
        r"tokens. ?\+ ?.max_new_tokens. must be",
        r"request exceeds the maximum size",
    ),
    _wording(
        "contextOverflow",
        "rateLimit tooLarge invalidRequest",
        r"request too large for",
        r"input or output tokens must be reduced",
        r"reduce your message size",
    ),
    _wording(
        "quota",
        "rateLimit invalidRequest permission serverError unknown",
        r"credit balance is too low",
        r"(?:insufficient|not enough|out of|no remaining|run out of) (?:credits?|balance|quota|funds)",
        r"requires more credits",
        r"quota (?:is |has been )?(?:exhausted|used up)",
        r"exceeded your current quota|check your plan and billing",
        r"billing (?:hard )?limit|payment (?:is )?required|purchase credits",
    ),
    _wording(
        "auth",
        "invalidRequest permission serverError unknown",
        r"(?:invalid|incorrect|missing|no|wrong|expired)\W{0,2} (?:x-)?api[ -_]?key",
        r"api[ -_]?key (?:is )?(?:not valid|invalid|incorrect|missing|expired|required)",
        r"(?:invalid|missing|expired) (?:authentication|authorization|bearer|access) (?:header|token)",
    ),
    _wording(
        "contentFilter",
        "invalidRequest permission serverError unknown",
        r"content (?:management )?policy|content[ _]filter|usage polic(?:y|ies)",
        r"flagged (?:by|as|for)|\bmoderation\b|safety system|inappropriate content",
    ),
    _wording(
        "modelNotFound",
        "notFound invalidRequest permission unknown",
        r"\bmodels?\b[^.]{0,120}(?:does not exist|do(?:es)? not have access|has been deprecated)",
        r"\bmodels?\b.{0,120}\bnot found|\bnot found\b.{0,40}\bmodel\b(?! context)",
        r"is not a valid model|invalid model\b|unknown model|no such model|\Amodel: \S+\Z",
        r"supported (?:api )?model names are",
    ),
    _wording("invalidRequest", "notFound", r"item with id .{0,80} not found"),
    _wording(
        "overloaded",
        "serverError rateLimit",
        r"\boverloaded\b|\bat capacity\b|capacity exceeded|high demand|loading model",
    ),
    _wording("rateLimit", "serverError unknown", r"\brate[ _-]?limit|too many requests"),
    _wording("timeout", "serverError unknown", r"\btimed? ?out\b"),
    _wording(
        "invalidRequest", "serverError", r"\bjinja\b|raise_exception|input is not supported|param requires --"
    ),
)
"""Looked at last, and only where status and code leave room."""

RETRYABLE: frozenset[ErrorKind] = frozenset(
    {
        "rateLimit",
        "overloaded",
        "serverError",
        "timeout",
        "connectionLost",
        "incompleteStream",
        "toolCallInvalid",
    }
)

FINAL: frozenset[ErrorKind] = frozenset(
    {
        "auth",
        "permission",
        "quota",
        "contextOverflow",
        "tooLarge",
        "invalidRequest",
        "modelNotFound",
        "contentFilter",
    }
)
"""Never retried, whatever a header says (kernel.md L7)."""

ADVICE: dict[ErrorKind, str] = {
    "auth": "Check the API key{key}.",
    "permission": "The account behind the key lacks the right to do this.",
    "quota": "Waiting does not help: check the plan and the billing of the account.",
    "rateLimit": "Wait a while, or raise the limits of the account.",
    "overloaded": "The provider is busy: try again later, or take another model.",
    "serverError": "The fault is the provider's: try again later.",
    "timeout": "The provider took too long: try again later.",
    "modelNotFound": "Check the name of the model.",
    "notFound": "Check the address of the provider.",
    "contextOverflow": "The conversation is too long for the model.",
    "tooLarge": "Make the request smaller: fewer or smaller images, a shorter conversation.",
    "invalidRequest": "The provider does not take the request as it is: its words say what to change.",
    "toolCallInvalid": "The model wrote a call that cannot be read: try again, or take another model.",
    "contentFilter": "The provider declined this content; rephrase the request.",
    "badResponse": "Check the address of the provider.",
}
"""Who should do what, after the provider's own words."""
