"""The messages of a Messages request as JSON: neighbours of one role are one turn, the user has the first."""

from __future__ import annotations

from pilothouse_agent.kernel.messages import AssistantMessage, ModelMessage, RefusedBlock, ToolResultMessage
from pilothouse_agent.models.history.image_refusals import WirePlace, refused_block, sent_blocks
from pilothouse_agent.models.history.own_thoughts import Back
from pilothouse_agent.models.history.sight import PiecesOf
from pilothouse_agent.models.messages.blocks import AnthropicPiece, text_block

__all__ = ["AnthropicTurns", "marked"]

_MARK = b',"cache_control":{"type":"ephemeral"}}'
_MARKED_TURNS = 2
_BEGIN = text_block("(The conversation begins with your answer.)")
_CONTINUE = text_block("Go on.")


class _Turn:
    def __init__(self, role: str, *blocks: bytes) -> None:
        self.role = role
        self.blocks = list(blocks)
        self.calls = False
        self.thinks = False
        """Whether it opens with thinking."""
        self.paused = False
        self.made_of: list[tuple[ModelMessage, int]] = []
        """Messages, and how many blocks each has here."""

    def add(self, message: ModelMessage, piece: AnthropicPiece, blocks: tuple[bytes, ...]) -> None:
        self.made_of.append((message, len(blocks)))
        if not self.blocks:
            self.thinks = blocks is piece.own and piece.thinks
        self.blocks.extend(blocks)
        self.calls = self.calls or bool(piece.tools)
        self.paused = piece.paused and blocks is piece.own

    def json(self, *, mark: bool) -> bytes:
        blocks = [*self.blocks[:-1], marked(self.blocks[-1])] if mark else self.blocks
        return b'{"role":"%b","content":[%b]}' % (self.role.encode(), b",".join(blocks))


class AnthropicTurns:
    """Of one history for one model, written message by message."""

    def __init__(self, pieces: PiecesOf[AnthropicPiece], back: Back) -> None:
        self.tokens = 0
        """A rough size."""
        self.tools = set[str]()
        """Those called, by their names on the wire."""
        self._pieces = pieces
        self._back = back
        self._past: list[bytes] = []
        """Turns that nothing will be added to and no mark be put on."""
        self._made_of: list[list[tuple[ModelMessage, int]]] = []
        """What these were made of."""
        self._turns: list[_Turn] = []
        """The rest."""

    @property
    def may_think(self) -> bool:
        """A turn with calls that another model began without thinking cannot be gone on with in thought."""
        last = next((turn for turn in reversed(self._turns) if turn.role == "assistant"), None)
        return last is None or not last.calls or last.thinks

    def add(self, message: ModelMessage) -> None:
        piece = self._pieces.of(message)
        self.tokens += piece.tokens
        self.tools.update(piece.tools)
        blocks = piece.own if self._back.wants(message, piece.model) and piece.own else piece.plain
        if not blocks:
            return
        if not self._turns and piece.role == "assistant":
            self._turns.append(_Turn("user", _BEGIN))
        if not self._turns or self._turns[-1].role != piece.role:
            self._turns.append(_Turn(piece.role))
        self._turns[-1].add(message, piece, blocks)
        # Roles take turns: so many at the end hold all that are to be marked.
        while len(self._turns) > 2 * _MARKED_TURNS:
            turn = self._turns.pop(0)
            self._past.append(turn.json(mark=False))
            self._made_of.append(turn.made_of)

    def refused(self, place: WirePlace) -> RefusedBlock:
        """The image at a place in the turns."""
        made_of = [*self._made_of, *(turn.made_of for turn in self._turns)]
        parts = made_of[place.message] if 0 <= place.message < len(made_of) else []
        index, inner = (*place.parts, None, None)[:2]
        if index is None:
            return refused_block([message for message, _ in parts], (), None)
        for message, blocks in parts:
            if index < blocks:
                # All of a tool result is one block, with its own inside.
                part = inner if isinstance(message, ToolResultMessage) else index
                sent = () if isinstance(message, AssistantMessage) else sent_blocks(message.content)
                return refused_block([message], sent, part)
            index -= blocks
        return RefusedBlock()

    def all(self, *, marks: bool) -> list[bytes]:
        """With marks for the prompt cache at the ends of the last user turns, or without."""
        turns = [*self._turns, *self._ending()]
        users = [turn for turn in turns if turn.role == "user"][-_MARKED_TURNS:] if marks else []
        return [*self._past, *(turn.json(mark=turn in users) for turn in turns)]

    def _ending(self) -> list[_Turn]:
        """What this request needs behind the history, and the next one will not."""
        last = self._turns[-1] if self._turns else None
        if last is not None and (last.role == "user" or last.paused):
            return []
        return [_Turn("user", _CONTINUE)]


def marked(block: bytes) -> bytes:
    """For the prompt cache, up to and with this block."""
    return block[:-1] + _MARK
