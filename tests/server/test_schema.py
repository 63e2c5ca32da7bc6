"""The models of the wire, what the server really sends, and the pages made of them agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.kernel import events
from pilothouse_server.protocol.event_models import EVENTS
from pilothouse_server.protocol.methods import METHODS
from pilothouse_server.protocol.schema import json_schema, protocol_page, write_schema
from pilothouse_server.sessions.event_stream import EventStream
from pilothouse_server.wire import method_names
from support.kernel_events import KERNEL_EVENTS

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"


def test_the_page_is_what_the_command_makes() -> None:
    assert PAGE.read_text(encoding="utf-8") == protocol_page()


def test_the_schema_names_every_method_and_every_event_and_refers_to_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert write_schema([]) == 0
    schema = json.loads(capsys.readouterr().out)
    referred = {part.partition('"')[0] for part in json.dumps(schema).split("#/$defs/")[1:]}

    assert schema == json_schema()
    assert referred <= set(schema["$defs"])
    assert list(schema["methods"]) == [method.name for method in METHODS]
    assert len(schema["notifications"][method_names.EVENT]["params"]["oneOf"]) == len(EVENTS)


def test_the_schema_and_the_page_go_where_they_are_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = [
        write_schema(arguments) for arguments in (["--out", str(tmp_path / "x")], ["--docs"], ["--what"])
    ]
    captured = capsys.readouterr()

    assert codes == [0, 0, 2]
    assert captured.out == (tmp_path / "x" / "protocol.md").read_text(encoding="utf-8") == protocol_page()
    assert captured.err == "usage: pilothouse schema [--out DIR | --docs | --settings [--docs]]\n"
    assert (
        json.loads((tmp_path / "x" / "pilothouse.schema.json").read_text(encoding="utf-8")) == json_schema()
    )


def test_every_event_of_the_kernel_has_a_model_and_the_other_way_round() -> None:
    in_kernel = {kind.__name__ for kind in get_args(events.Event)}
    on_wire = {model.__name__.removesuffix("Event") for model in EVENTS.values()}

    assert in_kernel == on_wire
    assert KERNEL_EVENTS.keys() == EVENTS.keys()


@pytest.mark.parametrize("kind", KERNEL_EVENTS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_is_sent_is_what_the_models_say_with_nothing_more_and_nothing_less(
    kind: str, data: st.DataObject
) -> None:
    event = data.draw(KERNEL_EVENTS[kind])
    run_id = data.draw(st.none() | st.just("r"))
    sent = json.loads(EventStream("s", "e").encoded(event, run_id, 1_700_000_000.25))
    model = EVENTS[sent["type"]].model_validate(sent)

    assert sent["type"] == kind
    assert model.model_dump(mode="json", by_alias=True, exclude_unset=True) == sent
