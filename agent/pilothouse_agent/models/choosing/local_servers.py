"""What servers on the user's own machine are asked around a request, and what the user is told of it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.kernel.request import ModelRequest
from pilothouse_agent.models.choosing.catalogue import Catalogue
from pilothouse_agent.models.choosing.local_window import asks_window, local_window, too_small
from pilothouse_agent.models.choosing.near_server import NobodyAnswers
from pilothouse_agent.models.choosing.provider_config import ProviderConfig
from pilothouse_agent.models.choosing.running_models import running_models

__all__ = ["LocalServers"]

_FRESH = 60.0
"""Seconds in which a server is not asked again."""
_SHOWN = 20


class LocalServers:
    def __init__(self, catalogue: Catalogue, *, now: Callable[[], float] = monotonic) -> None:
        self._catalogue = catalogue
        self._now = now
        self._asked: dict[str, float] = {}
        self._told: set[tuple[str, str]] = set()
        """Sessions and models."""

    async def small_window(self, config: ProviderConfig, request: ModelRequest, key: str) -> Notice | None:
        """Asks how much the model takes in; the notice that it is too little, once in a session."""
        if not asks_window(config):
            return None
        model = request.model
        if self._catalogue.takes_windows(model) and self._is_due(model):
            try:
                window = await local_window(config, model.partition("/")[2], key)
            except NobodyAnswers:
                return None
            if window is not None:
                # A server that does not tell yet may once the model is loaded.
                self._asked[model] = self._now()
            self._catalogue.note_window(model, window)
        text = too_small(config, model, self._catalogue.traits(model).limits.context_window)
        if text is None or (request.session_id, model) in self._told:
            return None
        self._told.add((request.session_id, model))
        return Notice("warning", text, "smallWindow")

    async def with_models(self, config: ProviderConfig, error: ErrorInfo, key: str) -> str:
        """The error's message, with the models that are there where the one that was asked for is not."""
        if error.kind != "modelNotFound" or not (config.on_this_machine or asks_window(config)):
            return error.message
        try:
            names = await running_models(config, key)
        except NobodyAnswers:
            return error.message
        if not names:
            return f"{error.message} It has no model yet."
        shown = ", ".join(f"{config.name}/{name}" for name in names[:_SHOWN])
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"{error.message} It has {shown}{more}."

    def _is_due(self, model: str) -> bool:
        asked = self._asked.get(model)
        return asked is None or self._now() - asked >= _FRESH
