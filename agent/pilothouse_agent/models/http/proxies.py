"""Which proxy stands before an address, as the usual variables name it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from pilothouse_agent.models.http.loopback import is_loopback
from pilothouse_agent.models.http.no_proxy import read_no_proxy

__all__ = ["ProxyRoute", "ProxyUnusable", "no_address", "route_to"]

_KINDS = ("http", "https", "socks5", "socks5h")
_SPELLINGS = {"socks": "socks5"}
_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


@dataclass(frozen=True, slots=True)
class ProxyRoute:
    variable: str
    """Where it is said."""
    kind: str
    """http, https, socks5 or socks5h."""
    place: str
    """Host and port."""
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        """Without user and password, so it may be shown."""
        return f"{self.kind}://{self.place}"

    @property
    def is_here(self) -> bool:
        """Whether it runs on this machine."""
        return is_loopback(urlsplit(self.url).hostname)


class ProxyUnusable(Exception):
    """Why the proxy that is set cannot be used, as a sentence without what the variable holds."""


def route_to(url: str, environment: Mapping[str, str]) -> tuple[ProxyRoute | None, list[str]]:
    """The proxy, None for a direct connection; and a sentence for each part of `NO_PROXY` that says nothing.

    What does not apply to the address is not looked at. Raises `ProxyUnusable` for what does.
    """
    said = _proxy_variable(urlsplit(url).scheme, environment)
    excepted = _set(environment, "no_proxy")
    no_proxy = read_no_proxy(environment[excepted] if excepted else "")
    problems = [
        f"{excepted} holds {entry!r}, which is no host, address or network. It is left out."
        for entry in no_proxy.unreadable
        if "@" not in entry
    ]
    if said is None or no_proxy.covers(url):
        return None, problems
    return _read(said, environment[said].strip()), problems


def no_address(variable: str) -> str:
    """As a sentence."""
    return f"{variable} holds what is no address of a proxy; correct it, or unset it."


def _proxy_variable(scheme: str, environment: Mapping[str, str]) -> str | None:
    for name in (f"{scheme}_proxy", "all_proxy"):
        # A web server that runs programs puts a header of its visitors there.
        exposed = name == "http_proxy" and "REQUEST_METHOD" in environment
        if found := _set(environment, name, small_only=exposed):
            return found
    return None


def _set(environment: Mapping[str, str], name: str, *, small_only: bool = False) -> str | None:
    """The spelling that counts. The one in small letters comes first, and set to nothing it says no."""
    if name in environment or small_only:
        return name if environment.get(name, "").strip() else None
    return name.upper() if environment.get(name.upper(), "").strip() else None


def _read(variable: str, text: str) -> ProxyRoute:
    whole = text if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) else f"http://{text}"
    try:
        parts = urlsplit(whole)
        kind = _SPELLINGS.get(parts.scheme, parts.scheme)
        host, port = parts.hostname or "", parts.port or _PORTS.get(kind)
    except ValueError:
        raise ProxyUnusable(no_address(variable)) from None
    if not re.fullmatch(r"[\w.:%-]+", host):
        raise ProxyUnusable(no_address(variable))
    if kind not in _KINDS:
        raise ProxyUnusable(
            f"{variable} names a proxy of the kind {kind}, which cannot be used; set an http proxy."
        )
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return ProxyRoute(variable, kind, place, unquote(parts.username or ""), unquote(parts.password or ""))
