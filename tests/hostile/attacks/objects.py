"""Objects that are too large, too many, or that name what is not theirs."""

import asyncio
from functools import partial
from typing import Any

from keda_py.apis.scaled_object import MOST_TRIGGERS
from keda_py.kube.resources import (
    CLOUD_EVENT_SOURCES,
    DEPLOYMENTS,
    SCALED_OBJECTS,
    SECRETS,
    TRIGGER_AUTHENTICATIONS,
    Obj,
)
from tests.builders import deployment, scaled_object, secret
from tests.hostile import innocent
from tests.hostile.attacks.keys import slow_account, slow_password
from tests.hostile.attacks.triggers import Trigger, config, cron, metrics_api, pods, prometheus, redis, using
from tests.hostile.case import Case
from tests.hostile.cleaning import HOSTILE
from tests.hostile.innocent import authentication
from tests.hostile.sources import hangs, says
from tests.hostile.trial import Trial

EDIT_PAUSE = 0.05
"""Between two changes, so that each is reconciled and none is merged with the next."""

NUMBER = b'{"value": 1}'
KIB = 1024


async def _triggers(trial: Trial, *triggers: Trigger, **spec: Any) -> None:
    """One object with these triggers, which the operator says something about."""
    await trial.scale_on(*triggers, **spec)
    await trial.looked_at()


def _case(id: str, sentence: str, *triggers: Trigger, wave: str = "", **spec: Any) -> Case:
    async def attack(trial: Trial) -> None:
        await _triggers(trial, *triggers, **spec)

    return Case(id=id, sentence=sentence, attack=attack, wave=wave)


# Each of these is as large as an object can be, or as much work as its limits allow.


async def _formula(trial: Trial, text: str) -> None:
    source = await trial.serve(says(NUMBER))
    advanced = {"scalingModifiers": {"formula": text, "target": "1"}}
    await _triggers(trial, metrics_api(source.url) | {"name": "q"}, advanced=advanced)


async def _thousand_hanging(trial: Trial) -> None:
    """In two objects: one with more than MOST_TRIGGERS is not read at all."""
    source = await trial.serve(hangs)
    for index in range(2):
        triggers = (metrics_api(source.url, location=f"a{n}") for n in range(MOST_TRIGGERS))
        await trial.scale_on(*triggers, name=f"{trial.case}-{index}")
    await source.asked()


async def _ten_thousand(trial: Trial) -> None:
    await trial.scale_on(*(cron(end=f"{n % 60} 18 * * *") for n in range(7000)))
    await trial.looked_at()


async def _decorated(trial: Trial) -> None:
    text = '\u202e\u0000\U0001f4a3\n\r"\\'.replace("\u0000", "\u0001") * 6000
    body = scaled_object(cron(), name=trial.case)
    labels = {f"l{n}": "v" * 63 for n in range(500)}
    body["metadata"] |= {"annotations": {"a": text, "autoscaling.keda.sh/paused-scale-in": text}, "labels": labels}
    await trial.create(DEPLOYMENTS, deployment(trial.case))
    await trial.create(SCALED_OBJECTS, body)
    await trial.looked_at()


async def _key_that_hangs(trial: Trial) -> None:
    """A private key whose password takes minutes to check."""
    certificate, key = slow_password()
    await trial.create(SECRETS, secret(trial.case, tls="enable", cert=certificate, key=key, keyPassword="guess"))
    await trial.create(TRIGGER_AUTHENTICATIONS, authentication(trial.case, "tls", "cert", "key", "keyPassword"))
    await trial.scale_on(using(redis("127.0.0.1:1"), trial.case))
    await trial.looked_at()


async def _key_of_primes(trial: Trial) -> None:
    await trial.create(SECRETS, secret(trial.case, GoogleApplicationCredentials=slow_account()))
    await trial.create(TRIGGER_AUTHENTICATIONS, authentication(trial.case, "GoogleApplicationCredentials"))
    await trial.scale_on(using(prometheus("http://127.0.0.1:1"), trial.case))
    await trial.looked_at()


LIMITS = (
    Case(
        id="formula-length",
        sentence="a formula as long as one may be",
        wave="limits",
        attack=partial(_formula, text="+".join(["q"] * 4990)),
    ),
    Case(
        id="formula-depth",
        sentence="a formula of 5 000 brackets",
        wave="limits",
        attack=partial(_formula, text="(" * 4990 + "q" + ")" * 4990),
    ),
    _case(
        "cron-lists",
        "a schedule of 100 000 minutes",
        cron(start=",".join(["0-59"] * 100_000) + " 0 30 2 *"),
        wave="limits",
    ),
    _case("cron-never", "a schedule for 30 February", cron(start="0 0 30 2 *", end="0 0 31 2 *"), wave="limits"),
    _case("cron-zone", "a time zone that is a path", cron(timezone="../../../../etc/passwd"), wave="limits"),
    _case(
        "selector-requirements",
        "a pod selector of 100 000 requirements",
        pods(",".join(f"k{n}=v" for n in range(100_000))),
        wave="selectors",
    ),
    _case(
        "selector-one",
        "a pod selector of one requirement, 1 MB long",
        pods("k in (" + "v," * 500_000 + "v)"),
        wave="selectors",
    ),
    Case(id="triggers-hanging", sentence="1 000 triggers on a source that hangs", attack=_thousand_hanging),
    Case(id="triggers-many", sentence="7 000 triggers, as many as an object has room for", attack=_ten_thousand),
    Case(
        id="decorated",
        sentence="300 kB of annotations and labels, control and combining characters among them",
        attack=_decorated,
        wave="limits",
    ),
    Case(
        id="key-password",
        sentence="a private key whose password is to be hashed 2^31 times",
        attack=_key_that_hangs,
        wave="keys",
    ),
    Case(
        id="key-primes",
        sentence="an RSA key of 15 636 bits as a Google service account's",
        attack=_key_of_primes,
        wave="keys",
    ),
)


# Names: what is long becomes a label, a message, a path; what has slashes becomes another path.

LONG = "x" * (500 * KIB)


async def _long_metric(trial: Trial) -> None:
    source = await trial.serve(says(NUMBER))
    await _triggers(trial, metrics_api(source.url, location=LONG))


async def _long_error(trial: Trial) -> None:
    """A source whose answers are wrong in ever new ways, each of them said in full."""
    sink = await trial.serve(hangs)
    await trial.create(CLOUD_EVENT_SOURCES, _event_source(trial.case, sink.url))
    source = await trial.serve(says(b'{"status":"success","data":{"result":[{"value":[1,"1"]},{"value":[1,"1"]}]}}'))
    await _triggers(trial, *(prometheus(source.url, query=f"{n}{LONG[: 100 * KIB]}") for n in range(10)))


async def _traversal(trial: Trial) -> None:
    """References that would be another path, if they were one."""
    innocents = f"../../{innocent.NAMESPACE}"
    triggers = [
        config(f"{innocents}/configmaps/web"),
        config(f"..%2F..%2F{innocent.NAMESPACE}%2Fconfigmaps%2Fweb"),
        config(f"x,metadata.namespace={innocent.NAMESPACE}"),
        config("kube-root-ca.crt?watch=1"),
    ]
    names = []
    for index, trigger in enumerate(triggers):
        names.append(await trial.scale_on(trigger, name=f"{trial.case}-{index}"))
    target = scaled_object(cron("* * * * *", "0 0 1 1 *"), name=f"{trial.case}-target", minReplicaCount=3)
    target["spec"]["scaleTargetRef"]["name"] = f"{innocents}/deployments/web"
    await trial.create(SCALED_OBJECTS, target)
    await trial.create(TRIGGER_AUTHENTICATIONS, _steals(trial.case, f"{innocents}/secrets/web"))
    source = await trial.serve(says(NUMBER))
    stealing = using(metrics_api(source.url, authMode="apiKey"), trial.case)
    names.append(await trial.scale_on(stealing, name=f"{trial.case}-secret"))
    for name in [*names, target["metadata"]["name"]]:
        live = await trial.looked_at(name)
        assert "health" not in (live.get("status") or {})

    def check() -> None:
        assert not source.holds(trial.installation.sources.api_key)

    trial.afterwards(check)


def _steals(name: str, secret_name: str) -> Obj:
    references = [{"parameter": "apiKey", "name": secret_name, "key": "apiKey"}]
    return {"metadata": {"name": name}, "spec": {"secretTargetRef": references}}


async def _secrets(trial: Trial) -> None:
    """Missing, binary, and as large as one can be."""
    big = {"metadata": {"name": trial.case}, "data": {"big": "AP+A" * 250_000}}
    await trial.create(SECRETS, big)
    references = [{"parameter": f"p{n}", "name": f"missing-{n}", "key": "k"} for n in range(200)]
    references += [{"parameter": "apiKey", "name": trial.case, "key": "big"}]
    await trial.create(
        TRIGGER_AUTHENTICATIONS, {"metadata": {"name": trial.case}, "spec": {"secretTargetRef": references}}
    )
    source = await trial.serve(says(NUMBER))
    await _triggers(trial, using(metrics_api(source.url, authMode="apiKey"), trial.case))


async def _file_path(trial: Trial) -> None:
    for index, path in enumerate(("/etc/passwd", "../../etc/passwd", "token")):
        name = f"{trial.case}-{index}"
        await trial.create(TRIGGER_AUTHENTICATIONS, {"metadata": {"name": name}, "spec": {"filePath": path}})
        await trial.scale_on(using(metrics_api("http://127.0.0.1:1", authMode="apiKey"), name), name=name)
        live = await trial.looked_at(name)
        assert "filePath" in str(live["status"]["conditions"]), live["status"]


async def _versions(trial: Trial) -> None:
    """One object whose target is of ever another kind."""
    name = await trial.scale_on(cron())
    for index in range(20):
        version = f"v{index}{LONG[: 100 * KIB]}"
        change = {"spec": {"scaleTargetRef": {"apiVersion": version, "kind": "Thing"}}}
        await trial.client.patch(SCALED_OBJECTS.named(HOSTILE, name), change)
        await asyncio.sleep(EDIT_PAUSE)


NAMES = (
    Case(id="name-of-metric", sentence="a metric whose name is 500 kB long", attack=_long_metric, wave="long names"),
    _case("name-of-type", "a trigger type of 500 kB", {"type": LONG, "metadata": {}}, wave="long names"),
    _case("name-of-trigger", "a trigger name of 500 kB", cron() | {"name": LONG}, wave="long names"),
    Case(
        id="name-of-version",
        sentence="20 apiVersions of 100 kB, one after the other",
        attack=_versions,
        wave="long names",
    ),
    Case(id="messages", sentence="errors of 100 kB each, told to a CloudEvents sink that hangs", attack=_long_error),
    Case(
        id="traversal",
        sentence="names that are paths to the other tenant's objects",
        attack=_traversal,
        wave="references",
    ),
    Case(id="secrets", sentence="200 missing Secrets and a binary one of 1 MB", attack=_secrets, wave="references"),
    Case(id="file-path", sentence="files of the operator by filePath", attack=_file_path, wave="references"),
)


def _event_source(name: str, url: str) -> Obj:
    return {"metadata": {"name": name}, "spec": {"clusterName": "c", "destination": {"http": {"uri": url}}}}


CASES = (*LIMITS, *NAMES)
