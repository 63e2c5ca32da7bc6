"""What statuses, typed codes and wordings of providers mean. Data; the order of judging is in errors.py."""

from __future__ import annotations

import re
from typing import NamedTuple, cast

from pilothouse_agent.kernel.messages import ErrorKind
from pilothouse_agent.models.http.error_body import plain_code

__all__ = ["ADVICE", "BROAD_CODES", "CODES", "FINAL", "RETRYABLE", "STATUSES", "WORDINGS", "Wording"]

STATUSES: dict[int, ErrorKind] = {
    401: "auth",
    402: "quota",
    403: "permission",
    404: "notFound",
    405: "notFound",
    408: "timeout",
    409: "overloaded",
    413: "tooLarge",
    424: "serverError",
    425: "overloaded",
    429: "rateLimit",
    498: "overloaded",
    501: "invalidRequest",
    504: "timeout",
    522: "timeout",
    524: "timeout",
    529: "overloaded",
}
"""Statuses with a meaning of their own; other 4xx are invalidRequest, other 5xx serverError."""


def _codes(**words: str) -> dict[str, ErrorKind]:
    """From the codes of each kind, in any way to write them, to the kind."""
    kinds = cast("dict[ErrorKind, str]", words)
    return {plain_code(code): kind for kind, codes in kinds.items() for code in codes.split()}


CODES = _codes(
    contextOverflow="""
        context_length_exceeded exceed_context_size_error model_max_prompt_tokens_exceeded
        too_many_prompt_tokens too_many_tokens context_window_exceeded_error tokens_limit_reached
    """,
    tooLarge="request_too_large payload_too_large",
    auth="""
        authentication_error invalid_api_key api_key_invalid wrong_api_key unauthenticated unauthorized
        auth_error invalid_authentication authentication_token_expired expired_token
        unrecognized_client_exception
    """,
    permission="""
        permission_error permission_denied permission_denied_error access_denied_exception
        unsupported_country_region_territory organization_restricted
    """,
    quota="""
        insufficient_quota quota_exceeded quota_exhausted insufficient_balance insufficient_credits
        exceeded_current_quota_error insufficient_user_quota billing_error billing_not_active
        billing_hard_limit_reached payment_required budget_exceeded token_quota_reached arrearage
    """,
    modelNotFound="""
        model_not_found invalid_model deployment_not_found model_not_available model_not_supported
        model_decommissioned unknown_model
    """,
    rateLimit="""
        rate_limit_exceeded rate_limit_error rate_limit_reached rate_limit_reached_error rate_limited
        too_many_requests too_many_requests_error throttling throttling_exception request_limit_exceeded
    """,
    overloaded="""
        overloaded_error engine_overloaded engine_overloaded_error service_tier_capacity_exceeded
        service_unavailable service_unavailable_error slow_down capacity_exceeded
        model_not_ready_exception
    """,
    timeout="timeout_error api_timeout_error deadline_exceeded model_timeout_exception gateway_timeout",
    contentFilter="""
        content_filter content_policy_violation content_policy_violation_error
        responsible_ai_policy_violation data_inspection_failed moderation_blocked
    """,
    toolCallInvalid="tool_use_failed",
)
"""Typed codes that say exactly what is wrong; they come before the status."""

BROAD_CODES = _codes(
    invalidRequest="invalid_request_error invalid_argument bad_request_error validation_error",
    notFound="not_found_error",
    permission="forbidden",
    rateLimit="resource_exhausted",
    overloaded="unavailable_error provider_unavailable",
    serverError="server_error api_error internal_error internal_server_error",
)
"""Typed codes that providers use for many things; they count only where there is no status."""


class Wording(NamedTuple):
    kind: ErrorKind
    pattern: re.Pattern[str]
    refines: frozenset[ErrorKind]
    """The kinds, judged by status and code, that the words may change."""
    may_pass: bool = False
    """Whether it passes, when a time to wait was stated."""


def _wording(kind: ErrorKind, refines: str, *patterns: str, may_pass: bool = False) -> Wording:
    kinds: frozenset[ErrorKind] = frozenset(refines.split())  # pyright: ignore[reportAssignmentType]
    return Wording(kind, re.compile("|".join(patterns), re.IGNORECASE | re.DOTALL), kinds, may_pass)


WORDINGS: tuple[Wording, ...] = (
    _wording(
        "contextOverflow",
        "invalidRequest tooLarge serverError unknown",
        r"prompt (?:is )?too long|context_length_exceeded|context ?window ?exceeded",
        r"context (?:window|length|size|limit)s?\b.{0,60}(?:exceed|not enough|too small)",
        r"exceed\w*.{0,40}\bcontext (?:window|length|size|limit)",
        r"\bmax(?:imum)? (?:context|prompt|model) length\b",
        r"context the overflows|context (?:window )?overflow|model_context_window_exceeded",
        r"\binput tokens?(?! per\b)(?: count)?\b.{0,40}\bexceed|input tokens.{0,20}configured limit",
        r"prompt token count of \d+ exceeds",
        r"exceeded model token limit|token limit exceeded",
        r"(?:input|prompt) is too long|(?:input|prompt)(?: \([^)]*\))? is longer than",
        r"\b(?:input|prompt) (?:length|tokens)\b.{0,40}\b(?:exceeds?|greater than|larger than|longer than)\b",
        r"\b(?:input|prompt) exceeds (?:the )?max",
        r"(?:greater|longer) than the (?:model.?s )?context length",
        r"reduce the length of (?:the messages|the prompt|the input|either one)",
        r"total length of all messages is too long",
        r"size limit exceeded by \d+ tokens|max size: \d+ tokens",
        r"current length is \d+ while limit is \d+|range of input length should be",
        r"max_tokens must be at least 1, got -",
        r"tokens. ?\+ ?.max_new_tokens. must be",
        r"request exceeds the maximum size",
        r"'(?:input|prompt|instructions|\w+\[\d+\]\.(?:content|output)[^']*)': string too long",
        r"超[过出].{0,12}(?:上下文|最大.{0,4}长度)",
    ),
    _wording(
        "contextOverflow",
        "rateLimit tooLarge invalidRequest serverError unknown",
        r"request too large for",
        r"input or output tokens must be reduced",
        r"reduce your message size",
    ),
    _wording(
        "quota",
        "rateLimit invalidRequest permission serverError unknown",
        r"credit balance is too low",
        r"(?:insufficient|not enough|out of|no remaining|run out of|all available) (?:\w+ )?"
        r"(?:credits?|balance|quota|funds)",
        r"have any credits|requires more credits|budget has been exceeded|key limit exceeded",
        r"billing (?:hard )?limit|spend(?:ing)? limit|payment (?:is )?required|purchase (?:more )?credits",
        r"call volume quota|reached your (?:\w+ ){0,4}usage limit|insufficient_quota",
        r"(?:余额|额度)不足|欠费",
    ),
    _wording(
        "quota",
        "rateLimit invalidRequest permission serverError unknown",
        r"quota (?:is |has been )?(?:exhausted|used up)",
        r"exceeded your current quota|check your plan and billing",
        may_pass=True,
    ),
    _wording(
        "auth",
        "invalidRequest permission serverError unknown",
        r"(?:invalid|incorrect|missing|no|wrong|expired|provide an?)\W{0,2} (?:x-)?api[ _-]?key",
        r"api[ _-]?key\b[^.]{0,40}\b(?:not valid|invalid|incorrect|missing|expired|required|leaked|revoked)",
        r"(?:invalid|missing|expired) (?:authentication|authorization|bearer|access) (?:header|token)",
        r"authentication (?:error|fail)|not authenticated|\bunauthorized\b|token seems invalid",
        r"invalid_api_key|authentication_error",
        r"无效的?(?:令牌|密钥|api)|(?:令牌|密钥|api.?key)(?:无效|错误)",
    ),
    _wording(
        "contentFilter",
        "invalidRequest permission serverError unknown",
        r"content[ _]?(?:management )?policy|content[ _]filter|usage (?:polic(?:y|ies)|guidelines)",
        r"flagged (?:by|as|for)|\bmoderation\b|safety system|inappropriate content|considered high risk",
        r"敏感内容|不安全",
    ),
    _wording(
        "invalidRequest",
        "notFound",
        r"item with id .{0,80} not found|no endpoints found that support",
    ),
    _wording(
        "notFound",
        "invalidRequest serverError unknown",
        r"un(?:expected|known|supported) (?:endpoint|route|path|url)\b|no such (?:endpoint|route)",
        r"\b(?:route|endpoint|path|url) (?:was )?not found|cannot post /|invalid url \(post",
    ),
    _wording(
        "modelNotFound",
        "notFound invalidRequest permission unknown",
        r"\bmodels?\b[^.]{0,120}(?:does not exist|do(?:es)? not have access)",
        r"\bmodels?\b[^.]{0,120}has been de(?:precat|commission)ed",
        r"\bmodels?\b.{0,120}\bnot found|\bnot found\b.{0,40}\bmodel\b(?! context)",
        r"is not a valid model|invalid model\b|unknown model|no such model|\Amodel: \S+\Z",
        r"supported (?:api )?model names are|model_not_found|model identifier is invalid",
        r"unable to access (?:the )?model",
        r"\bno (?:endpoints|allowed providers|available channels?)\b.{0,40}\b(?:for|model)",
        r"模型.{0,60}不存在",
    ),
    _wording(
        "overloaded",
        "serverError rateLimit unknown",
        r"\boverloaded\b|\bat capacity\b|capacity (?:\w+ )?exceeded|high demand",
        r"\b(?:too|is|currently) busy\b",
        r"loading model|\bmodel\b.{0,80}\b(?:is (?:currently )?loading|not ready)\b|overloaded_error",
    ),
    _wording(
        "rateLimit",
        "serverError unknown",
        r"\brate[ _-]?limit|too many requests|too many tokens, please wait|throttl",
    ),
    _wording(
        "rateLimit",
        "invalidRequest permission",
        r"rate[ _-]?limit(?:s|ed)? (?:is |was |has been )?(?:exceeded|reached)",
        r"exceed\w* (?:\w+ ){0,4}rate limit|too many requests",
    ),
    _wording("timeout", "serverError unknown", r"\btimed?[ -]?out\b"),
    _wording(
        "invalidRequest",
        "serverError",
        r"\bjinja\b|raise_exception|input is not supported|param requires --|roles must alternate",
        r"\bat row \d+, column \d+",
        r"(?:load|decode|process|parse|open|read|identify) (?:the |this |any |an )?(?:input )?image",
        r"(?:invalid|corrupt|broken|unsupported|unknown) image|\bimage\b.{0,20}(?:is invalid|is corrupt)",
        r"(?:illegal|invalid) base64|cannot identify image file|image file is truncated",
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
