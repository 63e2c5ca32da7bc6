"""Settings out of a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue

__all__ = ["load_file"]


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


def _as_json(value: Any) -> JsonValue:
    if isinstance(value, dict):
        return {str(name): _as_json(inner) for name, inner in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list):
        return [_as_json(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    return value if isinstance(value, bool | int | float | str) else str(value)
