"""What happens beside a run is told to the model at its next turn."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.tooling import ToolResult
from support.kernel import FakeTool, asks, bench, call, says


class News:
    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def take(self) -> Sequence[tuple[str, str]]:
        texts, self.texts = self.texts, []
        return [("news", text) for text in texts]


@pytest.mark.covers("R243")
async def test_news_of_the_time_between_runs_come_before_the_prompt() -> None:
    b = bench(says("ok"), says("ok"), news=News("The server has ended."))

    await b.run("Hi")
    await b.run("Again")

    assert b.model.shown[0] == ["U:The server has ended.", "U:Hi"]
    assert b.shown == ["C news:The server has ended.", "U:Hi", "A:ok", "U:Again", "A:ok"]


@pytest.mark.covers("R243")
async def test_news_during_a_run_come_with_the_next_request() -> None:
    news = News()

    async def work(arguments: JsonObject, context: ToolContext) -> ToolResult:
        news.texts.append("The server has ended.")
        return ToolResult.text("worked")

    b = bench(asks(call("c1", "work")), says("ok"), news=news, tools=[FakeTool("work", work)])

    await b.run("Hi")

    assert b.model.shown[1] == ["U:Hi", "A: [c1]", "R c1:worked", "U:The server has ended."]
    assert b.lines[b.lines.index("TE1") :][:4] == ["TE1", "TS2", "MS(C)", "ME(C,news)"]
