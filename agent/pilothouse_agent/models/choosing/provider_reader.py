"""Makes the providers out of the presets, the settings and the environment; bad entries never stop it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.choosing.fields import Fields
from pilothouse_agent.models.choosing.presets import PRESETS
from pilothouse_agent.models.choosing.provider_config import (
    FORMATS,
    ModelEntry,
    ProviderConfig,
    WireFormat,
    host_of,
    is_variable,
)
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
    problems = list[str]()
    entries = Fields(settings, "providers", problems)
    named: dict[str, JsonObject] = {}
    for name, value in settings.items():
        if not _NAME.match(name) or name in _NOT_A_PROVIDER:
            entries.wrong(name, "a name of small letters, digits, dots and dashes that is not taken")
        elif isinstance(value, dict):
            named[name] = value
        else:
            entries.wrong(name, "an object")
    configs: dict[str, ProviderConfig] = {}
    for name in dict.fromkeys([*PRESETS, *named]):
        config = _Reading(name, PRESETS.get(name, {}), named.get(name, {}), environment, problems).config()
        if config is not None:
            configs[name] = config
    return configs, problems


class _Reading:
    """One provider being read."""

    def __init__(
        self,
        name: str,
        preset: JsonObject,
        entry: JsonObject,
        environment: Mapping[str, str],
        problems: list[str],
    ) -> None:
        self._name = name
        self._own = Fields(preset, name, [])
        self._entry = Fields(entry, f"providers.{name}", problems)
        self._named_key = "key" in entry or "keyCommand" in entry
        self._environment = environment

    def config(self) -> ProviderConfig | None:
        """None when it has no address."""
        own, entry = self._own, self._entry
        chosen = entry.choice("format", FORMATS)
        wire_format = cast("WireFormat", chosen or own.choice("format", FORMATS) or "openai-chat")
        local = own.flag("local") or False
        address, address_name, default = self._address(local=local)
        key, key_name = self._key()
        headers, variables = self._headers(entry.object("headers"))
        models = {name: _model(fields) for name, fields in entry.object("models").objects()}
        dialect = self._dialect(host_of(address))
        config = ProviderConfig(
            self._name,
            wire_format,
            address,
            address_name,
            key_name,
            needs_key=self._named_key or (default and not local),
            key=key,
            key_command=entry.texts("keyCommand") or (),
            headers=headers,
            variables=(key_name, *variables) if key_name else variables,
            connect=entry.seconds("connectTimeout"),
            idle=entry.seconds("idleTimeout"),
            patience=own.seconds("idleTimeout") or 0.0,
            start=own.text("start") or "",
            image_size=own.tokens("imageSize"),
            dialect=dialect,
            models=models,
            lists=own.texts("lists") or ("*",),
        )
        entry.end()
        return config if address else None

    def _address(self, *, local: bool) -> tuple[str, str, bool]:
        """The address, what names it, and whether it is the preset's own."""
        setting = f"{self._entry.path}.baseUrl"
        default = self._own.text("baseUrl") or ""
        variables = self._own.texts("baseUrlVariable") or ()
        if own := self._entry.text("baseUrl"):
            return local_address(own, default) if local else own, setting, own.rstrip("/") == default
        for variable in variables:
            if address := self._environment.get(variable, "").strip():
                whole = local_address(address, default) if local else address
                return whole, variable, whole.rstrip("/") == default
        host_variable = self._own.text("hostVariable") or ""
        if address := self._environment.get(host_variable, "").strip():
            whole = host_address(address, default)
            return whole, host_variable, whole == default
        if not default:
            text = f"{setting}: expected the address of the server, so this provider is left out."
            self._entry.problems.append(text)
        return default, variables[0] if variables else setting, True

    def _key(self) -> tuple[str, str]:
        """The key itself, and the variable that may hold one."""
        variable = self._own.text("key") or ""
        given = self._entry.text("key") or ""
        return ("", given) if is_variable(given) else (given, variable)

    def _headers(self, given: Fields) -> tuple[dict[str, str], tuple[str, ...]]:
        """With `$NAME` in place of a value, the variable's is sent; these variables."""
        headers: dict[str, str] = {}
        variables: list[str] = []
        for name, text in given.all_texts().items():
            value = text
            if text.startswith("$"):
                variables.append(text[1:].strip("{}"))
                value = self._environment.get(variables[-1], "").strip()
            if not _HEADER.match(name) or name.lower() in _OWN_HEADERS:
                given.wrong(name, "the name of a header that is not set otherwise")
            elif not value or not value.isascii() or not value.isprintable():
                given.wrong(name, "a value of plain characters, or $NAME for a variable that is set")
            else:
                headers[name] = value
        return headers, tuple(variables)

    def _dialect(self, host: str | None) -> ChatDialect:
        own, only_at = self._own.object("dialect"), self._own.text("dialectHost")
        values = _dialect(own) if only_at in (None, host) else {}
        given = self._entry.object("dialect")
        values |= _dialect(given)
        given.end()
        return ChatDialect(**values)


def _dialect(given: Fields) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, kind in get_type_hints(ChatDialect).items():
        if get_origin(kind) is Literal:
            value = given.choice(_spelt(name), get_args(kind))
        else:
            value = given.flag(_spelt(name))
        if value is not None:
            values[name] = value
    return values


def _model(given: Fields) -> ModelEntry:
    entry = ModelEntry(
        context_window=given.tokens("contextWindow"),
        max_output=given.tokens("maxOutput"),
        images=given.flag("images"),
        thinking=given.flag("thinking"),
        input_price=given.money("inputPrice"),
        output_price=given.money("outputPrice"),
        cache_read_price=given.money("cacheReadPrice"),
        cache_write_price=given.money("cacheWritePrice"),
    )
    given.end()
    return entry


def _spelt(name: str) -> str:
    """As settings spell a field: `tokenField` for `token_field`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
