"""Tells on standard output everything that can be seen of the types of lsprotocol, as they were imported."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

__all__: list[str] = []

_OF_SLOTS = {"__dict__", "__weakref__", "__slots__", "__setstate__", "__attrs_own_setattr__"}
"""What a class has only with slots, or only without."""
HELLO = {
    "processId": 1,
    "rootUri": None,
    "capabilities": {
        "general": {"positionEncodings": ["utf-8"]},
        "workspace": {"workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]}},
        "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": [""]}}}},
    },
    "initializationOptions": {"any": [1, {"thing": None}]},
    "workspaceFolders": [{"uri": "file:///a", "name": "a"}],
}


def classes() -> Iterator[tuple[str, Any]]:
    from lsprotocol import types

    for name, kind in sorted(vars(types).items()):
        if isinstance(kind, type) and kind.__module__ == types.__name__ and not issubclass(kind, str | int):
            yield name, kind


def told(kind: Any) -> Any:
    import attrs

    if not attrs.has(kind):
        return "no class of attrs"
    names = {field.name for field in attrs.fields(kind)}
    fields = [[_shown(getattr(field, slot)) for slot in field.__slots__] for field in attrs.fields(kind)]
    methods = [name for name in dir(kind) if name not in _OF_SLOTS | names]
    hashed = kind.__hash__ is None
    return [fields, str(inspect.signature(kind)), methods, hashed, getattr(kind, "__match_args__", None)]


def _shown(value: Any) -> str:
    """Without its place in memory."""
    return re.sub(r" at 0x\w+", "", repr(value))


def travelled() -> Any:
    """What becomes of a message on its way in and out again."""
    from lsprotocol import types
    from lsprotocol.converters import get_converter

    converter = get_converter()
    made = converter.structure(HELLO, types.InitializeParams)
    edit = types.TextEdit(types.Range(types.Position(0, 1), types.Position(0, 2)), "x")
    same = edit == types.TextEdit(types.Range(types.Position(0, 1), types.Position(0, 2)), "x")
    return [repr(made), converter.unstructure(made), converter.unstructure(edit), same]


if __name__ == "__main__":
    if sys.argv[1:] == ["quick"]:
        from pilothouse_server.lsp_types import QUICK

        assert QUICK
    whole = {"message": travelled(), "classes": {name: told(kind) for name, kind in classes()}}
    sys.stdout.write(json.dumps(whole))
