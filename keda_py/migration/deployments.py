"""KEDA's own Deployments: their version, their flags and environment, and whether two operators would both write."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import re2

from keda_py.apis.foreign import list_at, maps_at, name_of, namespace_of, text_at, title_of, value_at
from keda_py.errors import ConfigError
from keda_py.kube.resources import DEPLOYMENTS, LEASES, Obj
from keda_py.migration.findings import Finding, Severity
from keda_py.migration.installation import Installation
from keda_py.settings.options import options_of
from keda_py.settings.settings import GROUPS, NO_SELECTORS, SELECTOR_REMEDY, SELECTORS, Settings, load_settings

ReadFlags = Callable[[Sequence[str]], tuple[Mapping[str, Sequence[str]], Mapping[str, str]]]
"""Command line -> (flags and their values, flags without meaning here and why). Raises ConfigError."""

COMPARED = ((2, 20), (2, 21))
_IMAGES = {
    "keda": "/keda",
    "keda-metrics-apiserver": "/keda-adapter",
    "keda-admission-webhooks": "/keda-admission-webhooks",
}
OPERATOR = "keda"
_TIMEOUT = "KEDA_HTTP_DEFAULT_TIMEOUT"
_VERSION = re2.compile(r"(\d+)\.(\d+)")
_KEDA_VARIABLE = re2.compile(r"^(?:KEDA_|RAW_METRICS_|WATCH_)")


def check_deployments(installation: Installation, read_flags: ReadFlags) -> Iterator[Finding]:
    """Check the Deployments of each of KEDA's programs."""
    found = False
    for deployment in installation.of(DEPLOYMENTS):
        for container in _containers(deployment):
            program = _program(container)
            if not program:
                continue
            found = True
            yield from _check_version(deployment, container)
            yield from _check_flags(deployment, container, read_flags)
            yield from _check_environment(deployment, container)
            if program == OPERATOR:
                yield from _check_leadership(deployment, container, installation)
    if installation.live and not found:
        yield Finding(severity=Severity.FINE, object="cluster", message="no Deployment of KEDA runs here")


def _containers(deployment: Obj) -> Sequence[Obj]:
    return list(maps_at(deployment, "spec", "template", "spec", "containers"))


def _arguments(container: Mapping[str, Any]) -> list[str]:
    return [str(argument) for argument in list_at(container, "args")]


def _program(container: Mapping[str, Any]) -> str:
    """Name which of KEDA's three programs it runs, "" for none: by its command, else by the name of its image."""
    command = next(iter(list_at(container, "command")), "")
    image = text_at(container, "image").partition("@")[0].rpartition("/")[2].partition(":")[0]
    return next((name for name, binary in _IMAGES.items() if command == binary or (not command and image == name)), "")


def _check_version(deployment: Obj, container: Mapping[str, Any]) -> Iterator[Finding]:
    tag = text_at(container, "image").partition("@")[0].rpartition("/")[2].partition(":")[2]
    shape = _VERSION.search(tag)
    if shape is None:
        message = f"image tag {tag!r} does not tell the version; what follows compares with KEDA 2.20 and 2.21"
        yield _finding(Severity.CHANGES, deployment, message, "see which version it is: kubectl logs of its pod")
    elif (version := (int(shape[1]), int(shape[2]))) not in COMPARED:
        message = f"is KEDA {version[0]}.{version[1]}; keda-py is compared with 2.20 and 2.21"
        yield _finding(
            Severity.CHANGES, deployment, message, "bring KEDA to 2.21 first, or read its changelog in between"
        )


def _check_flags(deployment: Obj, container: Mapping[str, Any], read_flags: ReadFlags) -> Iterator[Finding]:
    try:
        given, without_meaning = read_flags(_arguments(container))
        settings = load_settings(given, {})
    except ConfigError as error:
        yield _finding(
            Severity.CHANGES, deployment, str(error), "leave the flag out, or give a value that is understood"
        )
        return
    for flag, reason in without_meaning.items():
        yield _finding(Severity.FINE, deployment, f"--{flag} means nothing here: {reason}")
    if kept := ", ".join(_changed(settings, given)):
        yield _finding(Severity.FINE, deployment, f"means the same here: {kept}", "give keda-py the same values")


def _changed(settings: Settings, given: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the flags that differ from our defaults."""
    for group, kind in GROUPS.items():
        for name, option, default in options_of(kind):
            if option.flag in given and getattr(getattr(settings, group), name) != default:
                yield f"--{option.flag}={','.join(given[option.flag])}"


def _check_environment(deployment: Obj, container: Mapping[str, Any]) -> Iterator[Finding]:
    known = {option.env for kind in GROUPS.values() for _, option, _ in options_of(kind) if option.env}
    for variable in list_at(container, "env"):
        name, value = text_at(variable, "name"), value_at(variable, "value")
        if not value.strip('"') or not _KEDA_VARIABLE.search(name):
            continue
        if name in SELECTORS:
            yield _finding(Severity.BLOCKS, deployment, f"{name}={value}: {NO_SELECTORS}", SELECTOR_REMEDY)
        elif name in known:
            yield _finding(
                Severity.FINE, deployment, f"{name}={value} means the same here", "give keda-py the same value"
            )
        elif (name, value) != ("RAW_METRICS_GRPC_PROTOCOL", "disabled") and name != "RAW_METRICS_MODE":
            yield _finding(Severity.CHANGES, deployment, f"{name}={value} is not read", "check that nothing needs it")


@dataclass(frozen=True, slots=True)
class QuestionTime:
    """Seconds that a question may take, and which setting says so."""

    seconds: float
    source: str


def question_time_of(installation: Installation) -> QuestionTime:
    """Read the time-out of the installed operator, which keda-py should get too; the default if it is unreadable."""
    for deployment in installation.of(DEPLOYMENTS):
        for container in _containers(deployment):
            value = _variables(container).get(_TIMEOUT, "") if _program(container) == OPERATOR else ""
            try:
                seconds = load_settings({}, {_TIMEOUT: value}).http.timeout.total_seconds() if value else 0.0
            except ConfigError:
                continue  # KEDA has its default then, too
            if seconds:
                return QuestionTime(seconds, f"{_TIMEOUT} of {title_of(deployment)}")
    return QuestionTime(Settings().http.timeout.total_seconds(), _TIMEOUT)


def _variables(container: Obj) -> dict[str, str]:
    return {text_at(one, "name"): text_at(one, "value") for one in maps_at(container, "env")}


def _check_leadership(deployment: Obj, container: Mapping[str, Any], installation: Installation) -> Iterator[Finding]:
    arguments = [argument.lstrip("-") for argument in _arguments(container)]
    if value_at(deployment, "spec", "replicas") == 0:
        yield _finding(Severity.FINE, deployment, "is scaled to 0: nothing of KEDA writes")
        return
    if not any(one in ("leader-elect", "leader-elect=true") for one in arguments):
        message = "runs without --leader-elect: it would write beside keda-py"
        yield _finding(Severity.BLOCKS, deployment, message, f"scale it to 0 first: {_scale_to_zero(deployment)}")
        return
    own = Settings().leadership
    lease = next((one.partition("=")[2] for one in arguments if one.startswith("leader-election-id=")), own.lease_name)
    namespace = namespace_of(deployment) or "default"
    held = next((one for one in installation.of(LEASES) if _is(one, namespace, lease)), None)
    holder = text_at(held, "spec", "holderIdentity") or "no replica"
    message = (
        f"leads by the Lease {namespace}/{lease}, held by {holder}; keda-py waits for it as a replica of KEDA would"
    )
    options = "" if lease == own.lease_name else f" and --set operator.leaderElectionID={lease}"
    yield _finding(Severity.FINE, deployment, message, f"install keda-py with --namespace {namespace}{options}")


def _scale_to_zero(deployment: Obj) -> str:
    return f"kubectl scale deployment {name_of(deployment)} -n {namespace_of(deployment) or 'default'} --replicas=0"


def _is(body: Obj, namespace: str, name: str) -> bool:
    return (namespace_of(body), name_of(body)) == (namespace, name)


def _finding(severity: Severity, deployment: Obj, message: str, remedy: str = "") -> Finding:
    return Finding(severity=severity, object=title_of(deployment), message=message, remedy=remedy)
