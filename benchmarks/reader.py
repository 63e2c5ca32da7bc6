"""Our providers alone: from the bytes of an answer to typed events, without agent and server.

In a process of its own; reads one JSON command a line and answers with one, as the bare loop does.
`{"do": "open", "url"}` sets where the model is, `{"do": "text", "model", "format"}` reads one answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any, TypeAlias

from pilothouse_agent.kernel.request import Delta, Finished, ModelRequest
from pilothouse_agent.models.choosing.registry import default_registry

__all__ = ["main"]

Json: TypeAlias = dict[str, Any]


class Reader:
    def __init__(self, url: str) -> None:
        addresses = {f"{maker}_BASE_URL": url for maker in ("OPENAI", "ANTHROPIC")}
        self._models = default_registry(addresses)

    async def text(self, model: str) -> Json:
        wall, cpu = time.perf_counter(), time.process_time()
        text, ended = "", False
        async for event in self._models.stream(ModelRequest("benchmark", "turn", model, "", (), ())):
            if type(event) is Delta:
                text += event.text
            else:
                ended = ended or isinstance(event, Finished)
        used = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        return {"characters": len(text) if ended else None, **used}


async def main() -> None:
    reader: Reader | None = None
    for line in sys.stdin:  # between commands there is nothing else to do
        command = json.loads(line)
        if command["do"] == "open":
            reader, answer = Reader(command["url"]), {}
        elif reader is not None:
            answer = await reader.text(f"{command['format']}/{command['model']}")
        else:
            answer = {"error": "Nothing is open."}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
