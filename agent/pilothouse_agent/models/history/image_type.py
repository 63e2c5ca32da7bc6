"""What kind an image is, whatever it is called: providers compare the two."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode

from pilothouse_agent.kernel.messages import ImageBlock

__all__ = ["image_type"]

_BEGINNINGS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}
_LOOKED_AT = 16
"""Characters of base64: twelve bytes."""


def image_type(image: ImageBlock) -> str:
    """The media type that its first bytes tell, or as it is called where they tell none."""
    try:
        beginning = b64decode(image.data[:_LOOKED_AT])
    except binascii.Error:
        return image.media_type
    told = (kind for kind, pattern in _BEGINNINGS.items() if pattern.match(beginning))
    return next(told, image.media_type)
