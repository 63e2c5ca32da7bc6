"""What a user has chosen outside of any editor or command: their own file and the environment."""

from __future__ import annotations

from collections.abc import Mapping

from pilothouse_agent.permissions.layers import Layer
from pilothouse_agent.settings.complaints import complaints
from pilothouse_agent.settings.keys import from_environment
from pilothouse_agent.settings.layered import with_values
from pilothouse_agent.settings.places import read_user_settings
from pilothouse_agent.settings.settings import Settings

__all__ = ["chosen_settings"]


def chosen_settings(environment: Mapping[str, str]) -> tuple[Settings, list[str]]:
    """Both layers together, and a sentence for each thing in them that cannot be used. Blocks."""
    values, wrong = read_user_settings(environment)
    wrong += complaints(values, layer=Layer.USER, environment=environment)
    settings, _ = with_values(Settings(), values, layer=Layer.USER)
    values, unknown = from_environment(environment)
    wrong += [*unknown, *complaints(values, layer=Layer.ENVIRONMENT, over=settings, environment=environment)]
    settings, _ = with_values(settings, values, layer=Layer.ENVIRONMENT)
    return settings, wrong
