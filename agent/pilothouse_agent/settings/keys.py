"""The keys of the settings: what each may hold, and how files, environment and options spell it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard, get_args

from pilothouse_agent.files.declared import declared
from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.request import ThinkingLevel
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.suggestions import did_you_mean
from pilothouse_agent.settings.dotted_keys import merged_objects, nested, parts_below

__all__ = [
    "KEYS",
    "Key",
    "flattened",
    "from_environment",
    "load_file",
    "parse_assignment",
    "read_value",
    "unknown_key",
]

_ENVIRONMENT_PREFIX = "PILOTHOUSE_SET_"
_MODEL_VARIABLE = "PILOTHOUSE_MODEL"
_LONGEST_SHOWN = 40
_LARGEST = 10**9


@dataclass(frozen=True, slots=True)
class Key:
    name: str
    """Dotted."""
    read: Callable[[JsonValue], Any]
    """The typed value. Raises `ValueError` with what was expected."""
    textual: bool = False
    """It holds a text, which is taken as it is; in environment and options all others are JSON."""

    @property
    def field(self) -> str:
        """Its name in `Settings`: `run_max_turns` for `run.maxTurns`."""
        return re.sub(r"\.|(?=[A-Z])", "_", self.name).lower()

    @property
    def variable(self) -> str:
        """Its name in the environment, behind the prefix: `RUN_MAXTURNS`."""
        return self.name.replace(".", "_").upper()


def _whole(minimum: int) -> Callable[[JsonValue], int]:
    def read(value: JsonValue) -> int:
        # Editors that know only one kind of number send 5.0 for 5.
        if not _is_number(value) or not minimum <= value <= _LARGEST or value != int(value):
            raise ValueError(f"expected a whole number, {minimum} or more")
        return int(value)

    return read


def _seconds(value: JsonValue) -> float:
    if not _is_number(value) or not 0 < value <= _LARGEST:
        raise ValueError("expected a time in seconds, more than 0")
    return float(value)


def _flag(value: JsonValue) -> bool:
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _choice(*words: str) -> Callable[[JsonValue], str]:
    def read(value: JsonValue) -> str:
        if value not in words:
            raise ValueError(f"expected one of {', '.join(words)}")
        return str(value)

    return read


def _mode(value: JsonValue) -> ApprovalMode:
    return ApprovalMode(_choice(*ApprovalMode)(value))


def _model(value: JsonValue) -> str:
    if not isinstance(value, str) or not value.partition("/")[2] or value.startswith("/"):
        raise ValueError("expected a model as provider/model")
    return value


def _encodings(value: JsonValue) -> JsonObject:
    """A copy, in which the last one that fits counts."""
    for glob, name in _object(value).items():
        if not isinstance(name, str) or declared(name, "") is None:
            raise ValueError(f"expected the name of an encoding such as cp1252 for {glob[:_LONGEST_SHOWN]!r}")
    return _object(value)


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise ValueError("expected an object")
    return value


def _folders(value: JsonValue) -> tuple[str, ...]:
    folders = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(folders) != len(value) or not all(map(os.path.isabs, folders)):
        raise ValueError("expected a list of absolute paths of folders")
    return tuple(folders)


_KEYS = (
    Key("model", _model, textual=True),
    Key("thinking", _choice(*get_args(ThinkingLevel)), textual=True),
    Key("mode", _mode, textual=True),
    Key("run.maxTurns", _whole(1)),
    Key("run.guardBlocks", _whole(0)),
    Key("run.resumes", _whole(0)),
    Key("retry.attempts", _whole(0)),
    Key("retry.baseDelay", _seconds),
    Key("retry.maxDelay", _seconds),
    Key("retry.maxRetryAfter", _seconds),
    Key("model.connectTimeout", _seconds),
    Key("model.idleTimeout", _seconds),
    Key("tools.parallel", _whole(1)),
    Key("tools.grace", _seconds),
    Key("tools.writeLimit", _seconds),
    Key("tools.bashTimeout", _seconds),
    Key("tools.outputLines", _whole(1)),
    Key("tools.outputBytes", _whole(1)),
    Key("tools.schemasInPrompt", _flag),
    Key("events.listenerLimit", _seconds),
    Key("queue.steering", _choice("one", "all"), textual=True),
    Key("queue.followUp", _choice("one", "all"), textual=True),
    Key("edits.closedFiles", _choice("auto", "editor", "disk"), textual=True),
    Key("files.encodings", _encodings),
    Key("approvals.dialog", _choice("auto", "never", "quiet"), textual=True),
    Key("trust.folders", _folders),
    Key("providers", _object),
    Key("permissions", _object),
    Key("hooks", _object),
)
KEYS: Mapping[str, Key] = {key.name: key for key in _KEYS}
_OBJECTS = frozenset(key.name for key in _KEYS if key.read is _object)
_SECTIONS = frozenset(name.partition(".")[0] for name in KEYS if "." in name)
_MODEL_IN_SECTION = "model.id"
"""A file that has a section `model` cannot have a key `model` as well."""


def read_value(key: Key, value: JsonValue) -> Any:
    """Raises `ValueError` with a sentence."""
    try:
        return key.read(value)
    except ValueError as error:
        raise ValueError(f"{error}, got {_shown(value)}.") from None


def flattened(values: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """Dotted keys and their values; sections are taken apart, null is left out.

    What is said of a setting that is an object, whole or by dotted keys below it, comes as one.
    """
    objects: dict[str, JsonObject] = {}
    for name, value in _flattened(values):
        top, below = name.partition(".")[0], parts_below(name)
        if top not in _OBJECTS or not (below or isinstance(value, dict)):
            yield name, value
            continue
        said = nested(below, value) if below else value
        assert isinstance(said, dict)
        objects[top] = merged_objects(objects.get(top, {}), said)
    yield from objects.items()


def _flattened(values: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    for name, value in values.items():
        if value is None:
            continue
        if name in _SECTIONS and isinstance(value, dict):
            for inner, inner_value in _flattened(value):
                yield _without_alias(f"{name}.{inner}"), inner_value
        else:
            yield _without_alias(name), value


def unknown_key(name: str) -> str:
    return f"{name}: there is no such setting.{did_you_mean(name, KEYS)}"


def from_environment(environment: Mapping[str, str]) -> tuple[JsonObject, list[str]]:
    """The values of `PILOTHOUSE_SET_...` and `PILOTHOUSE_MODEL`, and a sentence for each name not known."""
    by_variable = {key.variable: key.name for key in _KEYS}
    values: JsonObject = {}
    problems: list[str] = []
    if environment.get(_MODEL_VARIABLE):
        values["model"] = environment[_MODEL_VARIABLE]
    for variable, text in sorted(environment.items()):
        if not variable.upper().startswith(_ENVIRONMENT_PREFIX):
            continue
        spelt = variable[len(_ENVIRONMENT_PREFIX) :].upper()
        name = by_variable.get(spelt)
        above = by_variable.get(spelt.partition("_")[0])
        if name is None and above in _OBJECTS:
            whole = _ENVIRONMENT_PREFIX + spelt.partition("_")[0]
            problems.append(f"{variable}: a variable cannot name what is in {above}; give {whole} as JSON.")
        elif name is None:
            problems.append(f"{variable}: there is no such setting.{did_you_mean(spelt, by_variable)}")
        else:
            values[name] = _from_text(KEYS[name], text)
    return values, problems


def parse_assignment(text: str) -> tuple[str, JsonValue]:
    """`run.maxTurns=5` as key and value. Raises `ValueError` with a sentence.

    `providers.local.baseUrl=…` reaches into an object; what it holds is judged by `complaints`.
    """
    name, equals, value_text = text.partition("=")
    name = name.strip()
    if not equals:
        raise ValueError(f"{text}: expected KEY=VALUE, for example run.maxTurns=5.")
    key = KEYS.get(name)
    if key is None and name.partition(".")[0] in _OBJECTS and parts_below(name):
        return name, _json_or_text(value_text)
    if key is None:
        raise ValueError(unknown_key(name))
    value = _from_text(key, value_text)
    try:
        read_value(key, value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return name, value


def load_file(path: str | Path) -> tuple[JsonObject, list[str]]:
    """The values of a TOML file, and what kept them from being read. A missing file has none. Blocks."""
    import tomllib

    try:
        # Notepad and PowerShell write a mark that TOML does not know.
        text = Path(path).read_text(encoding="utf-8-sig")
        return {name: _as_json(value) for name, value in tomllib.loads(text).items()}, []
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        return {}, [f"{path} could not be read: {error.strerror}."]
    except UnicodeDecodeError:
        return {}, [f"{path} is not UTF-8 text, so none of its settings count."]
    except (ValueError, RecursionError) as error:
        return {}, [f"{path} is not valid TOML, so none of its settings count: {error}."]


def _without_alias(name: str) -> str:
    return "model" if name == _MODEL_IN_SECTION else name


def _from_text(key: Key, text: str) -> JsonValue:
    return text.strip() if key.textual else _json_or_text(text)


def _json_or_text(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _as_json(value: Any) -> JsonValue:
    if isinstance(value, dict):
        return {str(name): _as_json(inner) for name, inner in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list):
        return [_as_json(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    return value if isinstance(value, bool | int | float | str) else str(value)


def _shown(value: JsonValue) -> str:
    """Short, and without what an object may hold: there may be a key in it."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "a huge number"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
