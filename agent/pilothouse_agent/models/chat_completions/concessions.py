"""What chat servers refuse to take, and in which words. Data."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pilothouse_agent.models.http.concessions import OF_IMAGES, Concession

__all__ = ["CONCESSIONS"]

CONCESSIONS: Mapping[str, Concession] = {
    "usage": Concession(re.compile(r"stream_options")),
    "token field": Concession(
        re.compile(r"\bmax_(?:completion_)?tokens\b.{0,80}(?:support|permitted|recogni)", re.IGNORECASE)
    ),
    "reasoning wanted": Concession(
        re.compile(
            r"reasoning_content.{0,60}(?:missing|required|must be (?:passed|provided|present|included))"
            r"|(?:missing|must include|requires?).{0,20}reasoning_content",
            re.IGNORECASE,
        )
    ),
    "reasoning unwanted": Concession(
        re.compile(
            r"reasoning_content.{0,60}(?:not (?:allowed|permitted|supported)|unexpected|forbidden|extra)"
            r"|(?:unknown|unexpected|extra|unsupported|unrecognized).{0,40}reasoning_content",
            re.IGNORECASE,
        )
    ),
    "thoughts": Concession(
        re.compile(
            r"signature.{0,40}(?:thinking|reasoning)|thinking.{0,80}cannot be modified|reasoning_details"
            r"|(?:invalid|corrupt\w*|expired).{0,20}(?:thought|thinking|reasoning)"
            r"|thought.?signature.{0,40}(?:not valid|invalid|corrupt)|encrypted.{0,80}(?:verif|decrypt)",
            re.IGNORECASE,
        ),
        "does not take the earlier thinking of its model back; it is left out.",
        of_past=True,
    ),
    "thinking": Concession(
        re.compile(
            r"reasoning_effort|unknown name .reasoning.|\bthinking\.type\b|not support.{0,20}\bthinking"
            r"|enable_thinking|chat_template_kwargs|(?:thinking|reasoning) (?:level|budget|effort)"
            r"|(?:reasoning|thinking) (?:is mandatory|cannot be disabled)",
            re.IGNORECASE,
        ),
        "does not think as it is asked to; it decides for itself.",
        by_level=True,
    ),
    "cache marks": Concession(re.compile(r"cache_control")),
    **OF_IMAGES,
}
"""What is left out after a server has refused it in such words; the first that fits counts."""
