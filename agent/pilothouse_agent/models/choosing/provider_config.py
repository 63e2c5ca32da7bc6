"""What is known of a provider before it is used: where it is, what it speaks, how to get in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.choosing.provider_entry import FormatName, ModelEntry
from pilothouse_agent.models.http.loopback import is_loopback

__all__ = ["ProviderConfig", "host_of"]


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    name: str
    """The provider's part of a model id."""
    format: FormatName
    address: str
    address_name: str
    """What to change for another address: a variable, or `providers.NAME.baseUrl`."""
    key_name: str = ""
    """The variable that may hold the key."""
    needs_key: bool = False
    """Without a key no request can succeed."""
    key: str = field(default="", repr=False)
    """From the user's own file."""
    key_command: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    variables: tuple[str, ...] = ()
    """Those that hold secrets for it; no other program is to see them."""
    connect: float | None = None
    """Seconds; None: as the settings say for all."""
    idle: float | None = None
    patience: float = 0.0
    """Seconds of silence that are usual here, however short the limit for all is."""
    dialect: ChatDialect = field(default_factory=ChatDialect)
    models: Mapping[str, ModelEntry] = field(default_factory=dict[str, ModelEntry])
    start: str = ""
    """The command that starts the server, where it is one for the user's own machine."""
    image_size: int | None = None
    """Bytes of an image that it takes, where that is less than usual."""
    lists: tuple[str, ...] = ("*",)
    """Patterns of the names that are listed out of the price data, which may hold more for the address."""

    @property
    def on_this_machine(self) -> bool:
        return is_loopback(host_of(self.address))


def host_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
