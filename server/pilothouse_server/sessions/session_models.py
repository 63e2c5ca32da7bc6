"""The models that sessions choose from, as the settings and the folders have them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from pilothouse_agent.models.choosing.provider_reader import read_providers
from pilothouse_agent.models.choosing.registry import ModelRegistry, Unusable, default_registry
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.keys.dotenv import read_dotenv
from pilothouse_agent.settings.settings import Settings
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault
from pilothouse_server.transport.rpc import RequestFault

__all__ = ["SessionModels"]

logger = logging.getLogger(__name__)

_MOST_REASONS = 3
"""Complaints about the settings in one error."""


class SessionModels:
    def __init__(
        self, environment: Mapping[str, str], settings: Settings, complaints: Sequence[str] = ()
    ) -> None:
        """`complaints`: what is wrong with the settings otherwise."""
        self.shared: ModelRegistry = default_registry(environment, timeouts=_limits(settings))
        """As all may use them."""
        self._environment = environment
        self._settings = settings
        self._complaints = tuple(complaints)
        self._problems: tuple[str, ...] = ()
        self._configure()

    @property
    def complaints(self) -> tuple[str, ...]:
        """What is wrong with the settings, the providers in them included."""
        return (*self._complaints, *self._problems)

    def configure(self, settings: Settings, complaints: Sequence[str] = ()) -> None:
        before, self._settings, self._complaints = self._settings, settings, tuple(complaints)
        if (settings.providers, _limits(settings)) != (before.providers, _limits(before)):
            self._configure()

    def in_folder(self, folder: str) -> tuple[ModelRegistry, list[str]]:
        """With the keys that a trusted folder has, and what is wrong with them. Blocks."""
        keys, problems = read_dotenv(folder, self.shared.key_variables)
        return self.shared.with_keys(keys), problems

    def child_environment(self) -> dict[str, str]:
        """What programs may see, as far as the models know."""
        secret = self.shared.secret_variables
        return {name: value for name, value in self._environment.items() if name not in secret}

    def chosen(self, model: str | None) -> str:
        """The one asked for, else the setting's. Raises a fault for an unknown one and for none."""
        chosen = model or self._settings.model
        if not chosen:
            text = (
                "No model is chosen. Name one by --model or the `model` of a request, "
                "in the setting `model`, or in PILOTHOUSE_MODEL."
            )
            raise self._refusal(Unusable("unknownModel", text))
        problem = self.shared.problem(chosen)
        if problem is not None and problem.kind == "unknownModel":
            raise self._refusal(problem)
        return chosen

    def refuse_unusable(self, model: str, models: ModelRegistry) -> None:
        """Raises the fault that says why no request to this one of `models` can succeed."""
        if (problem := models.problem(model)) is not None:
            raise self._refusal(problem)

    def _configure(self) -> None:
        configs, problems = read_providers(self._settings.providers or {}, self._environment)
        self.shared.configure(configs, _limits(self._settings))
        self._problems = tuple(f"In the settings, {problem}" for problem in problems)
        for problem in self._problems:
            logger.warning("%s", problem)

    def _refusal(self, problem: Unusable) -> RequestFault:
        """With what is wrong in the settings, which may be why."""
        kind = protocol.UNKNOWN_MODEL if problem.kind == "unknownModel" else protocol.NO_CREDENTIALS
        return fault(kind, " ".join([problem.message, *self.complaints[:_MOST_REASONS]]))


def _limits(settings: Settings) -> Timeouts:
    return Timeouts(settings.model_connect_timeout, settings.model_idle_timeout)
