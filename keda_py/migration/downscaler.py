"""py-kube-downscaler beside KEDA: its own Deployment, the annotations that it obeys, and what would be different here.

keda-py takes them over only if it is told to (`--downscaler-annotations`), so nothing here blocks.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from keda_py.apis.foreign import list_at, maps_at, name_of, namespace_of, text_at, texts_at, title_of
from keda_py.core.environment.downscaler.decision import ORIGINAL, PAUSED, PREFIX
from keda_py.core.environment.downscaler.timespecs import ALWAYS, NEVER, SpecDefaults, check_spec, crosses_midnight
from keda_py.core.environment.downscaler.values import parse_amount
from keda_py.errors import ConfigError
from keda_py.kube.resources import CRON_JOBS, DEPLOYMENTS, ENVIRONMENTS, NAMESPACES, SCALED_OBJECTS, STATEFUL_SETS, Obj
from keda_py.migration.findings import Finding, Severity
from keda_py.migration.installation import Installation
from keda_py.settings.environments import DOWNSCALER_RESOURCES

ANNOTATED = (NAMESPACES, DEPLOYMENTS, STATEFUL_SETS, CRON_JOBS, SCALED_OBJECTS)
_SPECS = ("uptime", "downtime", "upscale-period", "downscale-period")
_FORCING = ("force-uptime", "force-downtime")
_PROGRAM = "kube-downscaler"
_INCLUDE = "include-resources"
_VARIABLES = ("DEFAULT_", "UPSCALE_", "DOWNSCALE_", "DOWNTIME_", "EXCLUDE_")
_KNOWN = frozenset({_INCLUDE, "interval", "once", "debug", "json-logs", "enable-events", "dry-run", "namespace"})
"""Flags that have no meaning here, or are among the settings."""


def check_downscaler(installation: Installation) -> Iterator[Finding]:
    """Check the program first, then the annotations, object by object."""
    programs = [each for each in installation.of(DEPLOYMENTS) if _is_program(each)]
    for program in programs:
        yield from _check_program(program)
    found = [(body, _annotations(body)) for resource in ANNOTATED for body in installation.of(resource)]
    annotated = [(body, annotations) for body, annotations in found if annotations]
    if annotated:
        yield _tell_count([body for body, _ in annotated])
    governed = {namespace_of(each) for each in installation.of(ENVIRONMENTS)}
    for body, annotations in annotated:
        yield from _check_annotations(body, annotations)
        if body["kind"] != NAMESPACES.kind and namespace_of(body) in governed:
            message = "has downscaler annotations, and its namespace has an Environment, whose members are left to it"
            yield _changes(body, message, "take the annotations off, or exclude it from the Environment")


def _annotations(body: Obj) -> Mapping[str, str]:
    found = texts_at(body, "metadata", "annotations")
    return {name.removeprefix(PREFIX): text for name, text in found.items() if name.startswith(PREFIX)}


def _is_program(deployment: Obj) -> bool:
    return any(
        _PROGRAM in text_at(one, "image") for one in maps_at(deployment, "spec", "template", "spec", "containers")
    )


def _check_program(deployment: Obj) -> Iterator[Finding]:
    name, namespace = name_of(deployment), namespace_of(deployment)
    flags = _flags_of(deployment)
    included = [word.strip() for word in flags.get(_INCLUDE, "deployments").split(",") if word.strip()]
    here = [word for word in included if word in DOWNSCALER_RESOURCES]
    yield Finding(
        severity=Severity.FINE,
        object=title_of(deployment),
        message="puts workloads down by annotations; it goes on beside keda-py as beside KEDA",
        remedy="to leave it: --set environments.downscalerAnnotations=true "
        f"--set 'environments.downscalerIncludeResources={{{','.join(here or ['deployments'])}}}', then "
        f"kubectl scale deployment {name} -n {namespace or 'default'} --replicas=0",
    )
    for word in sorted(set(included) - set(DOWNSCALER_RESOURCES)):
        yield _changes(deployment, f"includes {word}, which keda-py does not put down", "keep the program for them")
    for flag in sorted(flags.keys() - _KNOWN):
        message = f"says --{flag}={flags[flag]}, which keda-py has no setting for"
        yield _changes(deployment, message, f"write {_instead(flag)}")


def _instead(flag: str) -> str:
    word = flag.removeprefix("default-")
    if word in (*_SPECS, "downtime-replicas"):
        return f"the annotation {PREFIX}{word} on the namespaces"
    if word in ("grace-period", "deployment-time-annotation"):
        return f"the annotation {PREFIX}grace-period on the workloads, of 15 minutes at most"
    if word.startswith("exclude"):
        return f"the annotation {PREFIX}exclude on them"
    return "time zone and days into each window" if word in ("timezone", "weekframe") else "annotations instead"


def _flags_of(deployment: Obj) -> dict[str, str]:
    """Return flags and their values, in both forms, and the values of its environment variables."""
    found: dict[str, str] = {}
    for container in maps_at(deployment, "spec", "template", "spec", "containers"):
        words = [str(word) for word in (*list_at(container, "command"), *list_at(container, "args"))]
        for word, after in zip(words, (*words, "")[1:], strict=True):
            flag, equals, value = word.partition("=")
            if flag.startswith("--"):
                found[flag[2:]] = value if equals or after.startswith("--") else after
        for variable in maps_at(container, "env"):
            name = text_at(variable, "name")
            if name.startswith(_VARIABLES):
                found.setdefault(name.lower().replace("_", "-"), text_at(variable, "value"))
    return found


def _tell_count(bodies: Sequence[Obj]) -> Finding:
    kinds = Counter(body["kind"] for body in bodies)
    text = ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in sorted(kinds.items()))
    return Finding(
        severity=Severity.FINE,
        object="annotations of py-kube-downscaler",
        message=f"stand on {text}; keda-py obeys them with --downscaler-annotations, puts a ScaledObject to sleep "
        "instead of pausing it, and a workload under one through that",
    )


def _check_annotations(body: Obj, annotations: Mapping[str, str]) -> Iterator[Finding]:
    for word, text in sorted(annotations.items()):
        try:
            yield from _check_one(body, word, text)
        except ConfigError as error:
            yield _changes(body, f"{error}; nothing is scaled by it, there as here", "correct the annotation")
    if ORIGINAL.removeprefix(PREFIX) in annotations and _is_paused(body):
        message = (
            "is paused by py-kube-downscaler now; it stays so until its uptime, and its annotations are taken off then"
        )
        yield Finding(severity=Severity.FINE, object=title_of(body), message=message)


def _is_paused(body: Obj) -> bool:
    return PAUSED in texts_at(body, "metadata", "annotations")


def _check_one(body: Obj, word: str, text: str) -> Iterator[Finding]:
    """Raises ConfigError."""
    field = PREFIX + word
    if word in ("downtime-replicas", "original-replicas"):
        parse_amount(text, field=field, signed=word.startswith("original"))
    is_flag = word in _FORCING and text.lower() in ("", "true", "false")
    if word not in (*_SPECS, *_FORCING) or is_flag or text.lower() in (ALWAYS, NEVER):
        return
    check_spec(text, SpecDefaults(), field=field)
    for part in filter(crosses_midnight, text.split(",")):
        what = f"{field}: {part.strip()!r} crosses midnight"
        message = f"{what}: py-kube-downscaler never opens it, keda-py does until the morning"
        yield _changes(body, message, "see that this is what was meant")


def _changes(body: Obj, message: str, remedy: str) -> Finding:
    return Finding(severity=Severity.CHANGES, object=title_of(body), message=message, remedy=remedy)
