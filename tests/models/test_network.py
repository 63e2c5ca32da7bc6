"""Proxies and certificates as the usual variables name them. 127.0.0.2 stands for a machine far away."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilothouse_agent.kernel.events import Notice
from support.asking import Seen, ask, failure, model_request, notices, seen
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, text_chunk
from support.providers import Settings, registry
from support.proxy import Proxy

HI = Answer.of(chat_body(text_chunk("Hi"), finish_chunk()))
FAR = "127.0.0.2"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD")
CERTIFICATES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
)
REQUEST = model_request(model="far/m")


@pytest.fixture(autouse=True)
def _no_proxy_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    # The HTTP library reads the process's own environment; there is no other way in.
    for name in (*PROXIES, *CERTIFICATES):
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
    files = [
        "-addext",
        f"subjectAltName=IP:{FAR},IP:127.0.0.1,DNS:localhost",
        "-keyout",
        str(key),
        "-out",
        str(made),
    ]
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


@pytest.mark.covers("R253")
@pytest.mark.parametrize(
    "excepted",
    [
        FAR,
        f"{FAR}:9",
        f" {FAR} ",
        f"example.com,{FAR}",
        f"example.com {FAR}",
        "127.0.0.0/8",
        f"fd00::/8, {FAR}",
        f"http://{FAR}",
        f"::ffff:{FAR}",
        "*",
        "example.com, *",
    ],
)
async def test_a_host_that_needs_no_proxy_is_asked_directly(
    excepted: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Proxy(server.port) as proxy, registry({"far": {"baseUrl": f"http://{FAR}:9/v1"}}) as models:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", excepted)
        assert failure(await ask(models, REQUEST)).kind == "connectionLost"
    assert (proxy.asked, server.requests) == ([], [])


@pytest.mark.covers("R253")
@pytest.mark.parametrize(
    ("excepted", "told"),
    [
        ("", []),
        ("localhost,fd00::/8", []),
        (f"{FAR}:10", []),
        (f"https://{FAR}", []),
        (
            "10.0.0.0/99",
            ["NO_PROXY holds '10.0.0.0/99', which is no host, address or network. It is left out."],
        ),
        (
            "::g,a/b",
            [
                f"NO_PROXY holds '{entry}', which is no host, address or network. It is left out."
                for entry in ("::g", "a/b")
            ],
        ),
    ],
)
async def test_what_of_the_exceptions_says_nothing_is_left_out_and_told_once(
    excepted: str, told: list[str], server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.play(HI, HI)
    async with Proxy(server.port) as proxy, registry({"far": {"baseUrl": f"http://{FAR}:9/v1"}}) as models:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", excepted)
        first, second = [await ask(models, REQUEST) for _ in range(2)]
    assert notices(first) == [Notice("warning", text, "network") for text in told]
    assert (seen(second), notices(second), len(proxy.asked)) == (Seen("Hi"), [], 1)


@pytest.mark.covers("R253")
@pytest.mark.parametrize(
    ("variables", "through"),
    [
        ({"http_proxy": "PROXY"}, True),
        ({"ALL_PROXY": "PROXY"}, True),
        ({"all_proxy": "PROXY"}, True),
        ({"HTTP_PROXY": "PLACE"}, True),
        ({"http_proxy": "PROXY", "HTTP_PROXY": "nonsense://"}, True),
        ({"HTTPS_PROXY": "http://"}, False),
        ({"HTTP_PROXY": "", "http_proxy": " "}, False),
        ({"HTTP_PROXY": "PROXY", "http_proxy": ""}, False),
        ({"HTTP_PROXY": "PROXY", "REQUEST_METHOD": "GET"}, False),
        ({"HTTP_PROXY": "http://", "NO_PROXY": FAR}, False),
        ({"ALL_PROXY": "socks5://127.0.0.1:1", "NO_PROXY": f"localhost,{FAR}"}, False),
    ],
)
async def test_the_variable_that_applies_counts_and_no_other_is_looked_at(
    variables: dict[str, str], through: bool, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.play(HI)
    async with Proxy(server.port) as proxy, registry({"far": {"baseUrl": f"http://{FAR}:9/v1"}}) as models:
        place = proxy.url.removeprefix("http://")
        for name, value in variables.items():
            monkeypatch.setenv(name, value.replace("PROXY", proxy.url).replace("PLACE", place))
        end = seen(await ask(models, REQUEST)).end
    assert (end, len(proxy.asked)) == (("stop", 1) if through else ("connectionLost", 0))


async def test_our_own_machine_is_never_behind_a_proxy(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.play(HI)
    async with Proxy(server.port) as proxy, registry({"far": {"baseUrl": server.url}}) as models:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        assert seen(await ask(models, REQUEST)) == Seen("Hi")
    assert proxy.asked == []


@pytest.mark.covers("R253", "R267", "L7")
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "all_proxy"])
async def test_a_proxy_that_is_gone_is_named_without_its_password(
    variable: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Proxy(server.port) as proxy:
        gone = proxy.url
    monkeypatch.setenv(variable, gone.replace("//", "//u:SENTINEL@"))
    async with registry({"far": {"baseUrl": f"http://{FAR}:9/v1"}}) as models:
        error = failure(await ask(models, REQUEST))
    assert (error.kind, error.message, error.retryable) == (
        "connectionLost",
        f"far could not be reached at {FAR}:9 through the proxy {gone} ({variable}): "
        f"the connection was refused. Check that the proxy runs, or unset {variable}.",
        False,
    )


@pytest.mark.covers("R253")
async def test_what_is_left_out_is_told_of_a_request_that_fails_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:3128")
    monkeypatch.setenv("NO_PROXY", "::g")
    async with registry({"far": {"baseUrl": f"http://{FAR}:9/v1"}}) as models:
        events = await ask(models, REQUEST)
    text = "NO_PROXY holds '::g', which is no host, address or network. It is left out."
    assert (notices(events), failure(events).kind) == ([Notice("warning", text, "network")], "connectionLost")


@pytest.mark.covers("R253")
async def test_a_proxy_nobody_knows_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.invalid:3128")
    async with registry({"far": {"baseUrl": f"https://{FAR}/v1"}}) as models:
        error = failure(await ask(models, REQUEST))
    assert (error.kind, error.retryable) == ("connectionLost", True)
    assert error.message.startswith(
        f"far could not be reached at {FAR} through the proxy http://proxy.invalid:3128 (HTTPS_PROXY): "
    )


@pytest.mark.covers("R267", "L7")
@pytest.mark.parametrize(
    ("provider", "setting", "advice"),
    [
        ("ollama", {}, "Start it with `ollama serve`, or correct providers.ollama.baseUrl."),
        ("lmstudio", {}, "Start it with `lms server start`, or correct providers.lmstudio.baseUrl."),
        ("mine", {"format": "anthropic"}, "Start it, or correct providers.mine.baseUrl."),
    ],
)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_connection_that_this_machine_refuses_is_not_tried_again(
    host: str, provider: str, setting: Settings, advice: str, server: ModelServer
) -> None:
    async with ModelServer() as gone:
        place = f"{host}:{gone.port}"
    async with registry({provider: {"baseUrl": f"http://{place}/v1", **setting}}) as models:
        error = failure(await ask(models, model_request(model=f"{provider}/m")))
    text = f"{provider} could not be reached at {place}: the connection was refused. {advice}"
    assert (error.kind, error.message, error.retryable) == ("connectionLost", text, False)


@pytest.mark.covers("L7")
async def test_a_connection_that_another_machine_refuses_may_be_tried_again() -> None:
    async with ModelServer() as gone:
        place = f"{FAR}:{gone.port}"
    async with registry({"far": {"baseUrl": f"http://{place}/v1"}}) as models:
        error = failure(await ask(models, REQUEST))
    assert (error.kind, error.retryable) == ("connectionLost", True)


UNUSABLE = {
    "SOCKS": (
        ("ALL_PROXY", "socks5://u:SENTINEL@127.0.0.1:1"),
        "ALL_PROXY names the SOCKS proxy 127.0.0.1:1, which needs `pip install 'httpx[socks]'`; "
        "or set an http proxy.",
    ),
    "SOCKS by another name": (
        ("https_proxy", "socks5h://box"),
        "https_proxy names the SOCKS proxy box:1080, which needs `pip install 'httpx[socks]'`; "
        "or set an http proxy.",
    ),
    "an old SOCKS": (
        ("all_proxy", "socks4://u:SENTINEL@127.0.0.1:1"),
        "all_proxy names a proxy of the kind socks4, which cannot be used; set an http proxy.",
    ),
    "no address": (
        ("HTTPS_PROXY", "http://u:SENTINEL/1@127.0.0.1:1"),
        "HTTPS_PROXY holds what is no address of a proxy; correct it, or unset it.",
    ),
    "no host": (
        ("HTTPS_PROXY", "http://"),
        "HTTPS_PROXY holds what is no address of a proxy; correct it, or unset it.",
    ),
    **{
        name: (
            (name, "/nowhere/at/all"),
            f"The certificates in {name} cannot be used: [Errno 2] No such file or directory.",
        )
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
    },
}


@pytest.mark.covers("R175", "R253", "R254")
@pytest.mark.parametrize("name", UNUSABLE)
async def test_variables_that_cannot_be_used_are_told_without_what_they_hold(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (variable, value), text = UNUSABLE[name]
    monkeypatch.setenv(variable, value)
    async with registry({"far": {"baseUrl": f"https://{FAR}:9/v1"}}) as models:
        error = failure(await ask(models, REQUEST))
    assert (error.kind, error.message, error.retryable) == ("invalidRequest", text, False)
    assert caplog.text == ""


@pytest.mark.slow
@pytest.mark.covers("R254")
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_certificate_of_ones_own_is_trusted_on_this_machine_too(
    host: str, variable: str, secure: ModelServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secure.play(HI)
    monkeypatch.setenv(variable, str(certificate))
    async with registry({"far": {"baseUrl": f"https://{host}:{secure.port}/v1"}}) as models:
        assert seen(await ask(models, REQUEST)) == Seen("Hi")


@pytest.mark.slow
@pytest.mark.covers("R254")
async def test_more_certificates_that_cannot_be_read_are_left_out_and_told(
    secure: ModelServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secure.play(HI)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", "/nowhere/at/all")
    async with registry({"far": {"baseUrl": f"https://127.0.0.1:{secure.port}/v1"}}) as models:
        events = await ask(models, REQUEST)
    text = "The certificates in NODE_EXTRA_CA_CERTS are left out: [Errno 2] No such file or directory."
    assert (seen(events), notices(events)) == (Seen("Hi"), [Notice("warning", text, "network")])


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
