"""Has lsprotocol imported with each of its types built when it is first used.

It makes 554 classes with attrs at its import, which is two thirds of what pygls costs at the start; a session
uses a handful. Import this before anything that imports lsprotocol. Where lsprotocol is not as it is known
here, it is imported as it is.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from threading import RLock
from typing import Any

import attrs

__all__ = ["QUICK"]

_TYPES = "lsprotocol.types"
_HOOKS = "lsprotocol._hooks"
_RESOLVED = "_resolved_forward_references"
_KNOWN = "3.17.0"
"""The version of LSP of the lsprotocol that this was written for."""

_define: Callable[..., Any] = attrs.define
_lock = RLock()


class _Later:
    """Stands for the fields of a class that is not built yet."""

    def __init__(self, cls: type[Any]) -> None:
        self._cls = cls

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        _build(self._cls)
        return owner.__attrs_attrs__


def _define_later(cls: type[Any] | None = None, **options: Any) -> Any:
    """As `attrs.define`, but the work is left for the first instance, or for who asks for its fields."""
    if cls is None or options or cls.__module__ != _TYPES:
        return _define(cls, **options)

    def begin(self: Any, *args: Any, **fields: Any) -> None:
        _build(built)
        type(self).__init__(self, *args, **fields)

    built: Any = cls
    built.__init__ = begin
    built.__attrs_attrs__ = _Later(built)
    return built


def _build(cls: Any) -> None:
    with _lock:
        if not isinstance(cls.__dict__.get("__attrs_attrs__"), _Later):
            return
        for base in cls.__mro__[1:]:
            _build(base)
        del cls.__attrs_attrs__
        del cls.__init__
        # A class with slots would be another one than the one that is referred to already.
        _define(cls, slots=False)
        attrs.resolve_types(cls, sys.modules[_TYPES].ALL_TYPES_MAP, {})


def _import_quickly() -> bool:
    if _TYPES in sys.modules:
        return False
    attrs.define = _define_later
    try:
        types = importlib.import_module(_TYPES)
    except Exception:
        return _import_plainly()
    finally:
        attrs.define = _define
    hooks = importlib.import_module(_HOOKS)
    if types.__lsp_version__ != _KNOWN or getattr(hooks, _RESOLVED, None) is not False:
        return _import_plainly()
    # Types are resolved as they are built.
    setattr(hooks, _RESOLVED, True)
    return True


def _import_plainly() -> bool:
    for name in [name for name in sys.modules if name.partition(".")[0] == "lsprotocol"]:
        del sys.modules[name]
    return False


QUICK = _import_quickly()
"""Whether it was."""
