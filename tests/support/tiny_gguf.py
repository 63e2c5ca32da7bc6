"""Writes a language model of two megabytes that says one thing, in the GGUF format.

Its vocabulary is single bytes. All layers are zero but the embedding and the output, which make of it a
chain: each byte of the answer follows from the one before, and the first from `PROMPT_END`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["write_model"]

Tensor: TypeAlias = tuple[str, tuple[int, ...], bytes]

PROMPT_END = ">"
_TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}" + PROMPT_END
_SPECIAL = ("<unk>", "<s>", "</s>")
_END = 2
_WIDTH = 288
"""Of the vocabulary and of the embedding, so that each token has a direction of its own."""
_ALIGNMENT = 32
_SURE = 4.0
_U32, _F32, _BOOL, _STRING, _ARRAY, _I32 = 4, 6, 7, 8, 9, 5


def write_model(path: Path, answer: str) -> None:
    """`answer`: ASCII, no character twice, none of them `PROMPT_END`."""
    metadata = [*_architecture(), *_tokenizer()]
    tensors = list(_tensors(answer))
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)))
        for name, kind, value in metadata:
            file.write(_text(name) + struct.pack("<I", kind) + _value(kind, value))
        offset = 0
        for name, shape, data in tensors:
            dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
            file.write(_text(name) + dimensions + struct.pack("<IQ", 0, offset))
            offset += len(data) + _padding(len(data))
        file.write(b"\0" * _padding(file.tell()))
        for _, _, data in tensors:
            file.write(data + b"\0" * _padding(len(data)))


def _architecture() -> list[tuple[str, int, Any]]:
    return [
        ("general.architecture", _STRING, "llama"),
        ("general.name", _STRING, "tiny"),
        ("llama.context_length", _U32, 512),
        ("llama.embedding_length", _U32, _WIDTH),
        ("llama.block_count", _U32, 1),
        ("llama.feed_forward_length", _U32, 32),
        ("llama.attention.head_count", _U32, 2),
        ("llama.attention.layer_norm_rms_epsilon", _F32, 1e-5),
        ("llama.rope.dimension_count", _U32, _WIDTH // 2),
        ("llama.vocab_size", _U32, _WIDTH),
    ]


def _tokenizer() -> list[tuple[str, int, Any]]:
    tokens = [*_SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]
    unused = [f"<unused{number}>" for number in range(_WIDTH - len(tokens))]
    kinds = [2, 3, 3] + [6] * 256 + [5] * len(unused)
    return [
        ("tokenizer.ggml.model", _STRING, "llama"),
        ("tokenizer.ggml.tokens", _ARRAY, (_STRING, tokens + unused)),
        ("tokenizer.ggml.scores", _ARRAY, (_F32, [0.0] * _WIDTH)),
        ("tokenizer.ggml.token_type", _ARRAY, (_I32, kinds)),
        ("tokenizer.ggml.bos_token_id", _U32, 1),
        ("tokenizer.ggml.eos_token_id", _U32, _END),
        ("tokenizer.ggml.add_space_prefix", _BOOL, False),
        ("tokenizer.chat_template", _STRING, _TEMPLATE),
    ]


def _tensors(answer: str) -> Iterable[Tensor]:
    zero = b"\0\0\0\0"
    square, wide = (_WIDTH, _WIDTH), (_WIDTH, 32)
    ones = struct.pack(f"<{_WIDTH}f", *[1.0] * _WIDTH)
    yield "token_embd.weight", square, _matrix((token, token) for token in range(_WIDTH))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        yield f"blk.0.{name}.weight", square, zero * _WIDTH * _WIDTH
    for name, shape in (("ffn_gate", wide), ("ffn_up", wide), ("ffn_down", wide[::-1])):
        yield f"blk.0.{name}.weight", shape, zero * _WIDTH * 32
    yield "blk.0.attn_norm.weight", (_WIDTH,), ones
    yield "blk.0.ffn_norm.weight", (_WIDTH,), ones
    yield "output_norm.weight", (_WIDTH,), ones
    said = [ord(letter) + len(_SPECIAL) for letter in PROMPT_END + answer]
    yield "output.weight", square, _matrix(zip([*said[1:], _END], said, strict=True))


def _matrix(entries: Iterable[tuple[int, int]]) -> bytes:
    rows = [[0.0] * _WIDTH for _ in range(_WIDTH)]
    for row, column in entries:
        rows[row][column] = _SURE
    return b"".join(struct.pack(f"<{_WIDTH}f", *row) for row in rows)


def _value(kind: int, value: Any) -> bytes:
    match kind:
        case 8:
            return _text(value)
        case 9:
            inner, items = value
            body = b"".join(_value(inner, item) for item in items)
            return struct.pack("<IQ", inner, len(items)) + body
        case _:
            return struct.pack({_U32: "<I", _F32: "<f", _BOOL: "<?", _I32: "<i"}[kind], value)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _padding(size: int) -> int:
    return -size % _ALIGNMENT
