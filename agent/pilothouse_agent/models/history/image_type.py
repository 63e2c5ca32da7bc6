"""What kind an image is, whatever it is called: providers compare the two."""

from __future__ import annotations

import binascii
from base64 import b64decode

from pilothouse_agent.kernel.image_types import LOOKED_AT, media_type_of
from pilothouse_agent.kernel.messages import ImageBlock

__all__ = ["image_type"]


def image_type(image: ImageBlock) -> str:
    """The media type that its first bytes tell, or as it is called where they tell none."""
    try:
        # Four characters of base64 hold three bytes.
        return media_type_of(b64decode(image.data[: LOOKED_AT // 3 * 4])) or image.media_type
    except binascii.Error:
        return image.media_type
