"""The models that sessions choose from, as the settings and the folders have them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pilothouse_agent.models.connection import Timeouts
from pilothouse_agent.models.dotenv import read_dotenv
from pilothouse_agent.models.provider_reader import read_providers
from pilothouse_agent.models.registry import ModelRegistry, Unusable, default_registry
from pilothouse_agent.session.settings import Settings
from pilothouse_server import protocol
from pilothouse_server.faults import fault
from pilothouse_server.transport.rpc import RequestFault

__all__ = ["SessionModels"]

logger = logging.getLogger(__name__)


class SessionModels:
    def __init__(self, environment: Mapping[str, str], settings: Settings) -> None:
        self.shared: ModelRegistry = default_registry(environment, timeouts=_limits(settings))
        """As all may use them."""
        self._environment = environment
        self._settings = settings
        self._configure()

    def configure(self, settings: Settings) -> None:
        before, self._settings = self._settings, settings
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
                "No model is chosen. Name one in the request, in the setting `model`, or in PILOTHOUSE_MODEL."
            )
            raise fault(protocol.UNKNOWN_MODEL, text)
        problem = self.shared.problem(chosen)
        if problem is not None and problem.kind == "unknownModel":
            raise _refusal(problem)
        return chosen

    def refuse_unusable(self, model: str, models: ModelRegistry) -> None:
        """Raises the fault that says why no request to this one of `models` can succeed."""
        if (problem := models.problem(model)) is not None:
            raise _refusal(problem)

    def _configure(self) -> None:
        configs, problems = read_providers(self._settings.providers or {}, self._environment)
        self.shared.configure(configs, _limits(self._settings))
        for problem in problems:
            logger.warning("In the settings, %s", problem)


def _refusal(problem: Unusable) -> RequestFault:
    unknown = problem.kind == "unknownModel"
    return fault(protocol.UNKNOWN_MODEL if unknown else protocol.NO_CREDENTIALS, problem.message)


def _limits(settings: Settings) -> Timeouts:
    return Timeouts(settings.model_connect_timeout, settings.model_idle_timeout)
