"""Makes the providers out of the presets, the settings and the environment; bad entries never stop it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.choosing.presets import NO_PRESET, PRESETS, Preset
from pilothouse_agent.models.choosing.provider_config import ProviderConfig, host_of
from pilothouse_agent.models.choosing.provider_entry import ProviderEntry, is_variable
from pilothouse_agent.models.entry import not_taken, read_entry
from pilothouse_agent.models.http.local_address import host_address, local_address

__all__ = ["read_providers", "secret_variables"]

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*\Z")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
_OWN_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection"})
_NOT_A_PROVIDER = ("scripted",)


def secret_variables(configs: Mapping[str, ProviderConfig]) -> frozenset[str]:
    """The variables whose values nobody but their provider is to see."""
    return frozenset(variable for config in configs.values() for variable in config.variables)


def read_providers(
    settings: JsonObject, environment: Mapping[str, str]
) -> tuple[dict[str, ProviderConfig], list[str]]:
    """All providers by name, and a sentence for each thing in `settings` that could not be used.

    An entry of a preset's name changes the preset field by field.
    """
    problems: list[str] = []
    entries: dict[str, JsonObject] = {}
    for name, value in settings.items():
        if not _NAME.match(name) or name in _NOT_A_PROVIDER:
            wanted = "a name of small letters, digits, dots and dashes that is not taken"
            problems.append(not_taken(f"providers.{name}", wanted))
        elif isinstance(value, dict):
            entries[name] = value
        else:
            problems.append(not_taken(f"providers.{name}", "an object"))
    configs: dict[str, ProviderConfig] = {}
    for name in dict.fromkeys([*PRESETS, *entries]):
        written = entries.get(name, {})
        entry, wrong = read_entry(ProviderEntry, written, f"providers.{name}") if written else (NO_PRESET, [])
        reading = _Reading(name, PRESETS.get(name, NO_PRESET), entry, environment, wrong)
        if config := reading.config(names_key="key" in written or "keyCommand" in written):
            configs[name] = config
        problems += wrong
    return configs, problems


@dataclass(frozen=True, slots=True)
class _Reading:
    """One provider being read."""

    name: str
    own: Preset
    entry: ProviderEntry
    environment: Mapping[str, str]
    problems: list[str]

    def config(self, *, names_key: bool) -> ProviderConfig | None:
        """None when it has no address. `names_key`: a key was given, be it one that cannot be used."""
        own, entry = self.own, self.entry
        address, address_name, default = self._address()
        key, key_name = self._key()
        headers, variables = self._headers()
        if not address:
            return None
        return ProviderConfig(
            self.name,
            entry.format or own.format or "openai-chat",
            address,
            address_name,
            key_name,
            needs_key=names_key or (default and not own.local),
            key=key,
            key_command=entry.key_command,
            headers=headers,
            variables=(key_name, *variables) if key_name else variables,
            connect=entry.connect_timeout,
            idle=entry.idle_timeout,
            patience=own.idle_timeout or 0.0,
            start=own.start or "",
            image_size=own.image_size,
            dialect=self._dialect(host_of(address)),
            models=entry.models,
            lists=own.lists,
        )

    def _address(self) -> tuple[str, str, bool]:
        """The address, what names it, and whether it is the preset's own."""
        setting = f"providers.{self.name}.baseUrl"
        default = self.own.base_url or ""
        variables = self.own.base_url_variable
        named = [(self.entry.base_url or "", setting), *((self._variable(name), name) for name in variables)]
        for address, name in named:
            if address:
                whole = local_address(address, default) if self.own.local else address
                return whole, name, whole.rstrip("/") == default
        host_variable = self.own.host_variable or ""
        if address := self._variable(host_variable):
            whole = host_address(address, default)
            return whole, host_variable, whole == default
        if not default:
            text = "expected the address of the server, so this provider is left out."
            self.problems.append(f"{setting}: {text}")
        return default, variables[0] if variables else setting, True

    def _key(self) -> tuple[str, str]:
        """The key itself, and the variable that may hold one."""
        given = self.entry.key or ""
        return ("", given) if is_variable(given) else (given, self.own.key or "")

    def _headers(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """With `$NAME` in place of a value, the variable's is sent; these variables."""
        headers: dict[str, str] = {}
        variables: list[str] = []
        for name, text in self.entry.headers.items():
            value, where = text, f"providers.{self.name}.headers.{name}"
            if text.startswith("$"):
                variables.append(text[1:].strip("{}"))
                value = self._variable(variables[-1])
            if not _HEADER.match(name) or name.lower() in _OWN_HEADERS:
                self.problems.append(not_taken(where, "the name of a header that is not set otherwise"))
            elif not value or not value.isascii() or not value.isprintable():
                wanted = "a value of plain characters, or $NAME for a variable that is set"
                self.problems.append(not_taken(where, wanted))
            else:
                headers[name] = value
        return headers, tuple(variables)

    def _dialect(self, host: str | None) -> ChatDialect:
        own = self.own.dialect if self.own.dialect_host in (None, host) else ChatDialect()
        said = self.entry.dialect
        return own.model_copy(update={name: getattr(said, name) for name in said.model_fields_set})

    def _variable(self, name: str) -> str:
        return self.environment.get(name, "").strip()
