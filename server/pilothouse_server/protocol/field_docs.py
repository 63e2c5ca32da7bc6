"""The docstrings under the fields of what is on the wire, read from their sources.

Only the schema wants them. Pydantic would read them for every model at every start.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pilothouse_server.protocol.models import Wire

__all__ = ["add_field_docs", "docs_in"]


def add_field_docs(definitions: dict[str, Any], sources: Mapping[type[Wire], type]) -> None:
    """Put them into the `$defs` of a schema, as descriptions. `sources`: where the fields of models that
    were made from other classes are declared."""
    models = {model.__name__: model for model in _with_descendants(Wire)}
    for name, definition in definitions.items():
        for field, text in _docs_of(models[name], sources).items():
            definition["properties"][field].setdefault("description", text)


def _with_descendants(model: type[Wire]) -> list[type[Wire]]:
    return [model, *(below for child in model.__subclasses__() for below in _with_descendants(child))]


def _docs_of(model: type[Wire], sources: Mapping[type[Wire], type]) -> dict[str, str]:
    """By name on the wire."""
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, Wire) and base is not Wire:
            docs |= docs_in(sources.get(base, base))
    return {field.alias or name: docs[name] for name, field in model.model_fields.items() if name in docs}


def docs_in(declared: type) -> dict[str, str]:
    """Of the fields that the class itself declares, by name in Python."""
    definition = ast.parse(dedent(inspect.getsource(declared))).body[0]
    assert isinstance(definition, ast.ClassDef)
    docs: dict[str, str] = {}
    for field, below in pairwise(definition.body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[name] = inspect.cleandoc(text)
            case _:
                pass
    return docs
