"""Whose certificates are trusted, as the usual variables say it."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path

__all__ = ["CertificatesUnusable", "trusted"]

_WHOLE = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Take the place of the certificates that we bring."""
_MORE = "NODE_EXTRA_CA_CERTS"
"""Comes to them."""


class CertificatesUnusable(Exception):
    """Which variable names certificates that cannot be used, and why, as a sentence."""


def trusted(environment: Mapping[str, str]) -> tuple[ssl.SSLContext, list[str]]:
    """The context, and a sentence for what of the variables is left out. Blocks.

    Raises `CertificatesUnusable`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    named = [name for name in _WHOLE if environment.get(name, "").strip()]
    for name in named:
        try:
            _load(context, environment[name].strip())
        except OSError as error:
            raise CertificatesUnusable(
                f"The certificates in {name} cannot be used: {_said(error)}."
            ) from None
    if not named:
        import certifi

        context.load_verify_locations(cafile=certifi.where())
    problems: list[str] = []
    if more := environment.get(_MORE, "").strip():
        try:
            _load(context, more)
        except OSError as error:
            problems.append(f"The certificates in {_MORE} are left out: {_said(error)}.")
    return context, problems


def _load(context: ssl.SSLContext, text: str) -> None:
    """A file, a folder, or a list of them. Raises `OSError`."""
    for place in filter(None, [text] if Path(text).exists() else text.split(os.pathsep)):
        if Path(place).is_dir():
            # Nothing in a folder is read before it is needed, so that it can be read is found out here.
            os.listdir(place)
            context.load_verify_locations(capath=place)
        else:
            context.load_verify_locations(cafile=place)


def _said(error: OSError) -> str:
    return str(error).strip().rstrip(".")
