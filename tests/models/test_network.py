"""Proxies and certificates as the usual variables name them. 127.0.0.2 stands for a machine far away."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.asking import Seen, ask, failure, model_request, seen
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, text_chunk
from support.providers import registry
from support.proxy import Proxy

HI = Answer.of(chat_body(text_chunk("Hi"), finish_chunk()))
FAR = "127.0.0.2"
REQUEST = model_request(model="far/m")


@pytest.fixture(autouse=True)
def _no_proxy_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    # The HTTP library reads the process's own environment; there is no other way in.
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """One file with a key and the certificate of `FAR`, which nobody but this file vouches for."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed, so no certificate can be made")
    key, made = tmp_path / "key.pem", tmp_path / "certificate.pem"
    options = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN={FAR}"
    files = ["-addext", f"subjectAltName=IP:{FAR}", "-keyout", str(key), "-out", str(made)]
    subprocess.run([openssl, *options.split(), *files], check=True, capture_output=True, timeout=5)
    made.write_bytes(made.read_bytes() + key.read_bytes())
    return made


@pytest.fixture
async def secure(certificate: Path) -> AsyncIterator[ModelServer]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    async with ModelServer(tls=tls) as server:
        yield server


async def test_a_request_goes_through_the_proxy_that_is_set(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.play(HI, HI)
    async with Proxy(server.port) as proxy, registry({"far": {"baseUrl": f"http://{FAR}:9/v1"}}) as models:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert [seen(await ask(models, REQUEST)) for _ in range(2)] == [Seen("Hi")] * 2
    assert proxy.asked == [f"POST http://{FAR}:9/v1/chat/completions HTTP/1.1"]
    assert (len(server.requests), server.connections) == (2, 1)


async def test_a_host_that_needs_no_proxy_is_asked_directly(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Proxy(server.port) as proxy, registry({"far": {"baseUrl": f"http://{FAR}:9/v1"}}) as models:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", FAR)
        assert failure(await ask(models, REQUEST)).kind == "connectionLost"
    assert (proxy.asked, server.requests) == ([], [])


async def test_our_own_machine_is_never_behind_a_proxy(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.play(HI)
    async with Proxy(server.port) as proxy, registry({"far": {"baseUrl": server.url}}) as models:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        assert seen(await ask(models, REQUEST)) == Seen("Hi")
    assert proxy.asked == []


async def test_a_proxy_that_is_gone_is_told(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Proxy(server.port) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
    async with registry({"far": {"baseUrl": f"http://{FAR}:9/v1"}}) as models:
        error = failure(await ask(models, REQUEST))
    assert (error.kind, error.retryable) == ("connectionLost", True)


UNUSABLE = {
    "SOCKS": (
        ("ALL_PROXY", "socks5://u:SENTINEL@127.0.0.1:1"),
        "A SOCKS proxy is set, which needs `pip install 'httpx[socks]'`; or set an http proxy.",
    ),
    "no address": (
        ("HTTP_PROXY", "http://u:SENTINEL/1@127.0.0.1:1"),
        "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY or NO_PROXY holds what is no address; correct it.",
    ),
    "no certificates": (
        ("SSL_CERT_FILE", "/nowhere/at/all"),
        "The certificates in SSL_CERT_FILE or SSL_CERT_DIR cannot be used: "
        "[Errno 2] No such file or directory.",
    ),
}


@pytest.mark.covers("R175")
@pytest.mark.parametrize("name", UNUSABLE)
async def test_variables_that_cannot_be_used_are_told_without_what_they_hold(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (variable, value), text = UNUSABLE[name]
    monkeypatch.setenv(variable, value)
    async with registry({"far": {"baseUrl": f"http://{FAR}:9/v1"}}) as models:
        error = failure(await ask(models, REQUEST))
    assert (error.kind, error.message, error.retryable) == ("invalidRequest", text, False)
    assert caplog.text == ""


@pytest.mark.slow
async def test_a_certificate_of_ones_own_is_trusted_through_a_tunnel(
    secure: ModelServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secure.play(HI, HI)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with Proxy(secure.port) as proxy, registry({"far": {"baseUrl": f"https://{FAR}/v1"}}) as models:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        assert [seen(await ask(models, REQUEST)) for _ in range(2)] == [Seen("Hi")] * 2
    assert proxy.asked == [f"CONNECT {FAR}:443 HTTP/1.1"]
    assert secure.connections == 1


@pytest.mark.slow
async def test_a_certificate_nobody_vouches_for_is_told_with_what_helps(
    secure: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Proxy(secure.port) as proxy, registry({"far": {"baseUrl": f"https://{FAR}/v1"}}) as models:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with asyncio.timeout(5):
            error = failure(await ask(models, REQUEST))
    assert (error.kind, error.retryable) == ("connectionLost", False)
    assert error.message.startswith(f"far at {FAR} has no trusted certificate: ")
    assert error.message.endswith(". SSL_CERT_FILE may name it.")
