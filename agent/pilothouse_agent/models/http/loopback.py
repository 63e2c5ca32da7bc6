"""Which hosts are the machine that we run on."""

from __future__ import annotations

import ipaddress

__all__ = ["is_loopback"]

_OURS = (ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1"))


def is_loopback(host: str | None) -> bool:
    """The other addresses of 127.0.0.0/8 are ours too, but somebody has put something else there."""
    if host is None or host.rstrip(".").lower() == "localhost":
        return host is not None
    try:
        return ipaddress.ip_address(host) in _OURS
    except ValueError:
        return False
