"""Credentials that are to be sent elsewhere: by redirects, by addresses of the hostile tenant's choice, by caches."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson

from keda_py.kube.resources import SECRETS, TRIGGER_AUTHENTICATIONS, Obj
from tests.builders import secret
from tests.hostile import innocent
from tests.hostile.attacks.triggers import Trigger, metrics_api, prometheus, using
from tests.hostile.case import Case
from tests.hostile.cleaning import HOSTILE
from tests.hostile.innocent import authentication
from tests.hostile.sources import Behaviour, Source, says
from tests.hostile.trial import SLICES, Trial

NUMBER = says(b'{"value": 1, "status": "success", "data": {"result": []}}')


def redirects(url: str, status: str = "302 Found") -> Behaviour:
    return says(b"", f"Location: {url}", status=status)


def answers(body: object) -> Behaviour:
    return says(orjson.dumps(body), "Content-Type: application/json")


async def _authenticated(trial: Trial, trigger: Trigger, **parameters: str) -> None:
    """An object whose trigger has these parameters, each of them a text that must not get anywhere else."""
    await trial.create(SECRETS, secret(trial.case, **parameters))
    await trial.create(TRIGGER_AUTHENTICATIONS, authentication(trial.case, *parameters))
    await trial.scale_on(using(trigger, trial.case))


async def _redirected(trial: Trial, metadata: Mapping[str, str], lures: tuple[str, ...], **parameters: str) -> None:
    """A source that was honest once sends those who ask it elsewhere."""
    thief = await trial.serve(NUMBER)
    source = await trial.serve(redirects(f"{thief.url}/stolen"))
    secrets = {name: trial.lure() for name in lures}
    make = prometheus if metadata["authMode"] == "custom" else metrics_api
    await _authenticated(trial, make(source.url, **metadata), **secrets, **parameters)
    await source.asked()
    _is_not_told(trial, thief, *secrets.values())


async def _redirected_prometheus(trial: Trial) -> None:
    thief, lure = await trial.serve(NUMBER), trial.lure()
    source = await trial.serve(redirects(thief.url, "307 Temporary Redirect"))
    await trial.scale_on(prometheus(source.url, customHeaders=f"X-Key={lure}"))
    await source.asked()
    _is_not_told(trial, thief, lure)


async def _downgraded(trial: Trial) -> None:
    """From https to http, on the same host."""
    thief, lure = await trial.serve(NUMBER), trial.lure()
    source = await trial.serve(redirects(f"http://localhost:{thief.port}"), tls=trial.server_tls())
    trigger = metrics_api(f"https://localhost:{source.port}", authMode="bearer", unsafeSsl="true")
    await _authenticated(trial, trigger, token=lure)
    await source.asked()
    _is_not_told(trial, thief, lure)


def _is_not_told(trial: Trial, thief: Source, *lures: str) -> None:
    def check() -> None:
        for lure in lures:
            assert not thief.holds(lure), f"{lure} was sent to another origin: {thief.received[0][:500]!r}"

    trial.afterwards(check)


def _vault(address: str, authentication: str = "token", **more: Any) -> Obj:
    secrets = [{"parameter": "token", "path": "secret/data/a", "key": "a", "type": "secret"}]
    return {"address": address, "authentication": authentication, "secrets": secrets} | more


async def _ask_vault(trial: Trial, vault: Obj) -> None:
    await trial.create(TRIGGER_AUTHENTICATIONS, {"metadata": {"name": trial.case}, "spec": {"hashiCorpVault": vault}})
    source = await trial.serve(NUMBER)
    await trial.scale_on(using(metrics_api(source.url, authMode="bearer"), trial.case))
    await trial.looked_at()


async def _operator_token(trial: Trial) -> None:
    thief = await trial.serve(answers({"data": {"a": "b"}}))
    await _ask_vault(trial, _vault(thief.url))
    _is_not_told(trial, thief, trial.installation.vault_token)


async def _service_account(trial: Trial) -> None:
    """The operator's own token, from its file."""
    thief = await trial.serve(answers({"auth": {"client_token": "t"}, "data": {"a": "b"}}), read_bodies=True)
    credential = {"serviceAccount": str(trial.installation.token_file)}
    await _ask_vault(trial, _vault(thief.url, "kubernetes", mount="m", role="r", credential=credential))
    _is_not_told(trial, thief, trial.installation.token)


async def _redirected_vault(trial: Trial) -> None:
    thief, lure = await trial.serve(answers({"data": {"a": "b"}})), trial.lure()
    source = await trial.serve(redirects(thief.url))
    await _ask_vault(trial, _vault(source.url, credential={"token": lure}))
    _is_not_told(trial, thief, lure)


async def _azure(trial: Trial) -> None:
    """The operator's federated token, at an authority of the hostile tenant's choice."""
    thief = await trial.serve(answers({"access_token": "t", "expires_in": 3600}), read_bodies=True)
    identity = {"provider": "azure-workload", "identityId": "a", "identityTenantId": "b"}
    identity |= {"identityAuthorityHost": thief.url}
    await trial.create(TRIGGER_AUTHENTICATIONS, {"metadata": {"name": trial.case}, "spec": {"podIdentity": identity}})
    source = await trial.serve(NUMBER)
    await trial.scale_on(using(prometheus(source.url), trial.case))
    await trial.looked_at()
    _is_not_told(trial, thief, trial.installation.token)


async def _certificates(trial: Trial) -> None:
    """The same question to the same Vault with a worthless token, while the other tenant's certificate is fresh."""
    key, good = trial.lure(), trial.lure()

    async def issue(asked: bytes, reader: Any, writer: Any) -> None:
        if f"x-vault-token: {good}".encode() in asked.lower():
            await answers({"data": {"private_key": key, "expiration": 4_000_000_000}})(asked, reader, writer)
        else:
            await says(b"{}", status="403 Forbidden")(asked, reader, writer)

    vault, thief, honest = await trial.serve(issue), await trial.serve(NUMBER), await trial.serve(NUMBER)
    await _issued(trial, innocent.NAMESPACE, vault.url, good, honest.url)
    await honest.asked()
    assert honest.holds(key)
    await _issued(trial, HOSTILE, vault.url, "worthless", thief.url)
    await trial.looked_at()
    _is_not_told(trial, thief, key)


async def _issued(trial: Trial, namespace: str, vault: str, token: str, source: str) -> None:
    """An object in that namespace which sends the key of its certificate to its source."""
    wanted = {"parameter": "token", "path": "pki/issue/a", "key": "private_key", "type": "pki"}
    spec = {"address": vault, "authentication": "token", "credential": {"token": token}, "secrets": [wanted]}
    await trial.create_in(
        namespace, TRIGGER_AUTHENTICATIONS, {"metadata": {"name": trial.case}, "spec": {"hashiCorpVault": spec}}
    )
    await trial.scale_on_in(namespace, using(metrics_api(source, authMode="bearer"), trial.case))


async def _userinfo(trial: Trial) -> None:
    """A password in an address is sent to that address, and told to nobody."""
    lure = trial.lure()
    source = await trial.serve(says(b"", status="500 No"))
    await trial.scale_on(metrics_api(source.url.replace("http://", f"http://user:{lure}@") + f"/?key={lure}"))
    await source.asked()
    live = await trial.looked_at()
    assert lure not in str(live["status"])


async def _endpoints(trial: Trial) -> None:
    """The pods behind a Service of the other tenant."""
    pod = await trial.serve(NUMBER)
    labels = {"kubernetes.io/service-name": trial.case}
    body = {
        "metadata": {"name": trial.case, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}],
        "ports": [{"port": pod.port}],
    }
    await trial.create_in(innocent.NAMESPACE, SLICES, body)
    url = f"http://{trial.case}.{innocent.NAMESPACE}.svc:{pod.port}/"
    await trial.scale_on(metrics_api(url, aggregateFromKubeServiceEndpoints="true"))
    await trial.looked_at()

    def check() -> None:
        assert not pod.received, "a pod of another namespace was asked"

    trial.afterwards(check)


def _redirect(
    id: str, sentence: str, *lures: str, parameters: Mapping[str, str] | None = None, **metadata: str
) -> Case:
    attack = partial(_redirected, metadata=metadata, lures=lures, **(parameters or {}))
    return Case(id=id, sentence=sentence, attack=attack, wave="redirects")


async def _loops(trial: Trial) -> None:
    """A source that redirects to itself, with a body each time."""

    async def behave(asked: bytes, reader: Any, writer: Any) -> None:
        await says(b" " * 500_000, "Location: /again", status="302 Found")(asked, reader, writer)

    source = await trial.serve(behave)
    await trial.scale_on(metrics_api(source.url))
    await source.asked(2)


async def _schemes(trial: Trial) -> None:
    """A source that redirects to files and to other protocols."""
    for index, url in enumerate(("file:///etc/passwd", "gopher://127.0.0.1:1/", "//", "http://[::1", "http:///x")):
        source = await trial.serve(redirects(url))
        await trial.scale_on(metrics_api(source.url), name=f"{trial.case}-{index}")
        await source.asked()


CASES = (
    _redirect(
        "redirect-api-key", "a redirect to another origin with an API key in a header", "apiKey", authMode="apiKey"
    ),
    _redirect("redirect-bearer", "a redirect to another origin with a bearer token", "token", authMode="bearer"),
    _redirect(
        "redirect-custom",
        "a redirect to another origin with a header of the tenant's own",
        "customAuthValue",
        parameters={"customAuthHeader": "X-Own"},
        authMode="custom",
    ),
    _redirect(
        "redirect-basic",
        "a redirect to another origin with user and password",
        "password",
        parameters={"username": "user"},
        authMode="basic",
    ),
    Case(
        id="redirect-prometheus",
        sentence="a redirect of a query with custom headers",
        attack=_redirected_prometheus,
        wave="redirects",
    ),
    Case(id="redirect-downgrade", sentence="a redirect from https to http", attack=_downgraded, wave="redirects"),
    Case(
        id="redirect-vault", sentence="a redirect of a Vault with a token", attack=_redirected_vault, wave="redirects"
    ),
    Case(id="redirect-loop", sentence="redirects in a circle, 500 kB each", attack=_loops, wave="redirects"),
    Case(id="redirect-schemes", sentence="redirects to files and other protocols", attack=_schemes, wave="redirects"),
    Case(
        id="vault-operator-token",
        sentence="a Vault of the tenant's own, for the operator's VAULT_TOKEN",
        attack=_operator_token,
        wave="identities",
    ),
    Case(
        id="vault-service-account",
        sentence="a Vault of the tenant's own, for the operator's ServiceAccount token",
        attack=_service_account,
        wave="identities",
    ),
    Case(
        id="azure-authority",
        sentence="an authority of the tenant's own, for the operator's federated token",
        attack=_azure,
        wave="identities",
    ),
    Case(
        id="vault-certificate",
        sentence="a worthless token, for a certificate that was issued to the other tenant",
        attack=_certificates,
        wave="identities",
    ),
    Case(
        id="password-in-address",
        sentence="a password in an address, that errors might repeat",
        attack=_userinfo,
        wave="identities",
    ),
    Case(
        id="other-endpoints",
        sentence="a Service of the other tenant, to be asked by the operator",
        attack=_endpoints,
        wave="identities",
    ),
)
