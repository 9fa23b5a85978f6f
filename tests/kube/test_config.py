"""Configuration of the client: kubeconfigs, tokens, plugins, certificates, and their renewal."""

import base64
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kubernetes_asyncio.client.configuration import Configuration

from keda_py.clock import SystemClock
from keda_py.errors import ConfigError, Unauthorized, Unavailable
from keda_py.kube.client import KubeClient
from keda_py.kube.config import configure_in_cluster
from keda_py.kube.resources import DEPLOYMENTS
from tests.kube.certificates import Authority
from tests.kube.faulty_server import Answer, FaultyServer, refuses, says, serving, status, thing, write_kubeconfig

WEB = DEPLOYMENTS.named("ns", "web")
GET = f"GET {WEB.path}"


def lets_in(*tokens: str) -> Answer:
    """Accept only one of these bearer tokens."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") in {f"Bearer {token}" for token in tokens}:
            return web.json_response(thing("web", 7))
        return status(401, "Unauthorized")

    return answer


def exec_plugin(folder: Path, *lines: str) -> dict[str, Any]:
    """Make a kubeconfig user whose credentials a script prints."""
    script = folder / "plugin"
    script.write_text("\n".join(["#!/bin/sh", *lines]))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script)}}


def credential(status_json: str) -> str:
    return (
        'echo \'{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":' + status_json + "}'"
    )


async def test_a_token_file_may_end_with_a_newline(server: FaultyServer, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    server.answer(GET, lets_in("abc"))
    kubeconfig = write_kubeconfig(tmp_path / "config", server.url, {"tokenFile": str(tmp_path / "token")})
    async with KubeClient(SystemClock(), kubeconfig) as client:
        assert await client.get(WEB)


async def test_the_token_of_the_pod_may_end_with_a_newline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (tmp_path / "token").write_text("abc\n")
    (tmp_path / "ca.crt").write_text(Authority("cluster").pem)
    configuration = Configuration(host="")
    assert configure_in_cluster(configuration, tmp_path) == (str(tmp_path / "ca.crt"),)
    assert configuration.host == "https://10.96.0.1:443"
    assert (await configuration.get_api_key_with_prefix("BearerToken")).strip() == "Bearer abc"


async def test_a_replaced_token_is_read_again_when_the_old_one_is_refused(server: FaultyServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    server.answer(GET, lets_in("old"), lets_in("new"))
    kubeconfig = write_kubeconfig(tmp_path / "config", server.url, {"tokenFile": str(token)})
    async with KubeClient(SystemClock(), kubeconfig) as client:
        await client.get(WEB)
        token.write_text("new")
        assert await client.get(WEB)


async def test_a_token_that_stays_refused_is_not_read_again_at_every_request(
    server: FaultyServer, client: KubeClient
) -> None:
    server.answer(GET, refuses(401, "Unauthorized"))
    for _ in range(3):
        with pytest.raises(Unauthorized):
            await client.get(WEB)
    assert len(server.seen) == 4


async def test_a_plugin_gives_the_token_and_is_run_again_when_it_is_refused(
    server: FaultyServer, tmp_path: Path
) -> None:
    counter = tmp_path / "runs"
    user = exec_plugin(
        tmp_path, f"echo run >> {counter}", credential('{"token":"\'token-$(wc -l < ' + str(counter) + ")'\"}")
    )
    server.answer(GET, lets_in("token-1"), lets_in("token-2"))
    async with KubeClient(SystemClock(), write_kubeconfig(tmp_path / "config", server.url, user)) as client:
        assert await client.get(WEB)
        assert await client.get(WEB)


async def test_a_plugin_is_run_again_before_its_token_expires(server: FaultyServer, tmp_path: Path) -> None:
    counter = tmp_path / "runs"
    user = exec_plugin(
        tmp_path,
        f"echo run >> {counter}",
        credential(
            '{"expirationTimestamp":"2026-01-01T00:00:00Z","token":"\'token-$(wc -l < ' + str(counter) + ")'\"}"
        ),
    )
    server.answer(GET, lets_in("token-2"), lets_in("token-3"))
    async with KubeClient(SystemClock(), write_kubeconfig(tmp_path / "config", server.url, user)) as client:
        assert await client.get(WEB)
        assert await client.get(WEB)


async def test_a_plugin_that_fails_is_a_config_error_with_its_words(server: FaultyServer, tmp_path: Path) -> None:
    user = exec_plugin(tmp_path, "echo no session >&2", "exit 3")
    with pytest.raises(ConfigError, match="no session"):
        async with KubeClient(SystemClock(), write_kubeconfig(tmp_path / "config", server.url, user)):
            pass


async def test_a_plugin_that_begins_to_fail_makes_the_server_unavailable_until_it_works_again(
    server: FaultyServer, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    expired = '{"expirationTimestamp":"2026-01-01T00:00:00Z","token":"abc"}'
    user = exec_plugin(tmp_path, f"[ ! -e {broken} ] || exit 3", credential(expired))
    server.answer(GET, lets_in("abc"))
    async with KubeClient(SystemClock(), write_kubeconfig(tmp_path / "config", server.url, user)) as client:
        broken.touch()
        with pytest.raises(Unavailable, match="could not be refreshed"):
            await client.get(WEB)
        broken.unlink()
        assert await client.get(WEB)


async def test_kubeconfig_may_come_from_the_environment(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_kubeconfig(tmp_path / "config", server.url)
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([str(tmp_path / "missing"), path]))
    async with KubeClient(SystemClock()) as client:
        assert client.url == server.url


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "does not exist"),
        ("", "correct the file"),
        ("contexts: [", "correct the file"),
        ("current-context: a\ncontexts: []\nclusters: []\nusers: []\n", "Expected object with name a"),
    ],
    ids=["missing", "empty", "not YAML", "no such context"],
)
async def test_a_wrong_kubeconfig_is_a_config_error_that_names_it(
    tmp_path: Path, text: str | None, complaint: str
) -> None:
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=complaint) as caught:
        async with KubeClient(SystemClock(), str(path)):
            pass
    assert str(path) in str(caught.value)


async def test_outside_a_cluster_without_a_kubeconfig_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ConfigError, match="pass --kubeconfig"):
        async with KubeClient(SystemClock()):
            pass


async def test_a_client_certificate_says_who_we_are(tmp_path: Path) -> None:
    authority, seen = Authority("ca"), []
    pem = base64.b64encode(authority.issue(tmp_path, "me").read_bytes()).decode()
    ca = base64.b64encode(authority.pem.encode()).decode()

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        seen.append(request.transport.get_extra_info("peercert")["subject"])
        return web.json_response(thing("web", 7))

    faulty = FaultyServer()
    faulty.answer(GET, answer)
    async with serving(faulty, authority.server_context(tmp_path)):
        user = {"client-certificate-data": pem, "client-key-data": pem}
        kubeconfig = write_kubeconfig(tmp_path / "config", faulty.url, user, **{"certificate-authority-data": ca})
        async with KubeClient(SystemClock(), kubeconfig) as client:
            await client.get(WEB)
    assert seen == [((("commonName", "me"),),)]


async def test_a_rotated_cluster_ca_is_trusted_without_a_restart(tmp_path: Path, unused_tcp_port: int) -> None:
    old, new = Authority("old"), Authority("new")
    ca = tmp_path / "ca.crt"
    ca.write_text(old.pem)
    url = f"https://127.0.0.1:{unused_tcp_port}"
    kubeconfig = write_kubeconfig(tmp_path / "config", url, **{"certificate-authority": str(ca)})
    faulty = FaultyServer()
    faulty.answer(GET, says(thing("web", 7)))
    async with KubeClient(SystemClock(), kubeconfig) as client:
        async with serving(faulty, old.server_context(tmp_path), unused_tcp_port):
            assert await client.get(WEB)
        async with serving(faulty, new.server_context(tmp_path), unused_tcp_port):
            with pytest.raises(Unavailable, match="certificate verify failed"):
                await client.get(WEB)
            ca.write_text(old.pem + new.pem)
            assert await client.get(WEB)


async def test_a_half_written_file_leaves_the_old_credentials_in_use(tmp_path: Path, unused_tcp_port: int) -> None:
    authority = Authority("ca")
    ca = tmp_path / "ca.crt"
    ca.write_text(authority.pem)
    url = f"https://127.0.0.1:{unused_tcp_port}"
    kubeconfig = write_kubeconfig(tmp_path / "config", url, **{"certificate-authority": str(ca)})
    faulty = FaultyServer()
    faulty.answer(GET, refuses(401, "Unauthorized"), says(thing("web", 7)))
    async with (
        KubeClient(SystemClock(), kubeconfig) as client,
        serving(faulty, authority.server_context(tmp_path), unused_tcp_port),
    ):
        ca.write_text("-----BEGIN CERTIF")
        with pytest.raises(Unauthorized):
            await client.get(WEB)
        assert await client.get(WEB)


async def test_a_plain_text_server_behind_an_https_url_is_unavailable(server: FaultyServer, tmp_path: Path) -> None:
    url = server.url.replace("http:", "https:")
    async with KubeClient(SystemClock(), write_kubeconfig(tmp_path / "config", url)) as client:
        with pytest.raises(Unavailable, match="SSL"):
            await client.get(WEB)


async def test_requests_go_through_the_proxy_of_the_environment(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    server.answer(GET, says(thing("web", 7)))
    async with KubeClient(SystemClock(), write_kubeconfig(tmp_path / "config", "http://kube.invalid")) as client:
        assert await client.get(WEB)
    assert server.seen[0].host == "kube.invalid"
