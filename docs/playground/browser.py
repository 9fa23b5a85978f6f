"""The playground's Python, in a browser: manifests in; findings, the next week and a day with a load out.

Every decision is made by the operator's own code.

What a browser has not (sockets, TLS, compiled libraries without a build for it) is replaced by stand-ins before keda-py
is imported. Nothing here connects to anything.
"""

import importlib.abc
import importlib.machinery
import json
import logging
import re  # noqa: TID251 - in a browser the text is the reader's own, and so is the time that it takes
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keda_py.simulation.runs.run import Result

ABSENT = frozenset(
    {"OpenSSL", "_multiprocessing", "_ssl", "aiobotocore", "aiodns", "aiohttp", "botocore", "cryptography", "fcntl"}
    | {"grp", "httpcore", "httpx", "kubernetes_asyncio", "multidict", "prometheus_client", "pwd", "pycares", "redis"}
    | {"resource", "ssl", "syslog", "termios", "urllib3", "uvloop", "yarl"}
)
"""Modules that a browser cannot load, or that only connections need."""


class _PlaceholderType(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder

    def __iter__(cls) -> Iterator[Any]:
        return iter(())


class Placeholder(Exception, metaclass=_PlaceholderType):
    """Class that stands for any name of an absent module: a base class, an exception, a function or a context."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder

    def __call__(self, *_: Any, **__: Any) -> "Placeholder":
        return Placeholder()

    def __class_getitem__(cls, _: Any) -> type["Placeholder"]:
        return cls

    def __or__(self, _: Any) -> "Placeholder":
        return self

    __ror__ = __or__

    async def __aenter__(self) -> "Placeholder":
        return self

    async def __aexit__(self, *_: Any) -> None:
        pass


class _AbsentModule(types.ModuleType):
    __path__: Sequence[str] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _PlaceholderType(name, (Placeholder,), {})


class _AbsentModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder of modules that a browser cannot load."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in ABSENT:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _AbsentModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def _orjson() -> types.ModuleType:
    """Stand-in for orjson, by the standard library."""
    module = types.ModuleType("orjson")

    def dumps(value: Any, default: Any = None, option: int = 0) -> bytes:
        del option
        return json.dumps(value, default=default, separators=(",", ":"), ensure_ascii=False).encode()

    vars(module).update(loads=json.loads, dumps=dumps, Fragment=bytes)
    vars(module).update(JSONDecodeError=json.JSONDecodeError, JSONEncodeError=TypeError)
    options = "APPEND_NEWLINE INDENT_2 NAIVE_UTC NON_STR_KEYS PASSTHROUGH_DATETIME SORT_KEYS UTC_Z"
    vars(module).update({f"OPT_{name}": 0 for name in options.split()})
    return module


def _re2() -> types.ModuleType:
    """Stand-in for re2, by the standard library, whose syntax differs in one escape that keda-py uses."""
    module = types.ModuleType("re2")

    def compiled(pattern: Any, options: Any = None) -> Any:
        del options
        return re.compile(pattern.replace(r"\z", r"\Z") if isinstance(pattern, str) else pattern)

    names = ("escape", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "error")
    vars(module).update({name: getattr(re, name) for name in names})
    vars(module).update(compile=compiled, Options=type("Options", (), {}), UNANCHORED=0)
    return module


def prepare() -> None:
    """Put the stand-ins in place; it comes before the first import of keda_py."""
    sys.meta_path.insert(0, _AbsentModules())
    sys.modules.update(orjson=_orjson(), re2=_re2())
    import yaml

    names = {"CSafeLoader": yaml.SafeLoader, "CLoader": yaml.Loader, "CSafeDumper": yaml.SafeDumper}
    vars(yaml).update(names)
    logging.disable(logging.CRITICAL)


async def answer(text: str, days: int = 7) -> str:
    """Return findings and, where there is no error, a picture and the windows of the next days, as JSON."""
    from keda_py.errors import ConfigError
    from keda_py.preview.command import PreviewOptions
    from keda_py.preview.pages.body import body_of
    from keda_py.preview.pages.svg import svg_of
    from keda_py.replay.previews import preview
    from keda_py.replay.reading.manifests import ManifestSource, read_plans
    from keda_py.validation.report import validate_texts

    report = await validate_texts({"manifest": text})
    found: dict[str, Any] = {
        "objects": report.objects,
        "problems": [{"line": one.line, "severity": one.severity, "sentence": one.sentence} for one in report.problems],
    }
    if not report.objects or any(one.severity == "error" for one in report.problems):
        return json.dumps(found)
    sources = [
        ManifestSource(body=body, ignored=document.ignored, spec=report.release.spec_of(body))
        for document, body in zip(report.documents, report.release.completed, strict=True)
        if body["kind"] != "HorizontalPodAutoscaler"
    ]
    try:
        period = PreviewOptions(days=days).period(sources)
        ahead = preview(read_plans(sources, period.begins, period.ends), period.begins, period.ends, None)
    except ConfigError as error:
        found["problems"].append({"line": 1, "severity": "error", "sentence": str(error)})
        return json.dumps(found)
    found |= {"svg": svg_of(ahead, period.zone).decode(), "preview": body_of(ahead, period.zone)}
    found["notes"] = [*ahead.problems, *ahead.warnings]
    return json.dumps(found)


_DAY_STYLE = (
    ".asked{fill:#2563eb22;stroke:#2563eb;stroke-width:1.2}.ready{fill:none;stroke:#16a34a;stroke-width:1}"
    ".grid{stroke:#8888;stroke-width:.5}text{fill:#1b1f24;font:11px system-ui,sans-serif}"
)
_PODS = ("cpu", "memory")


async def days(text: str, profile: str) -> str:
    """Return a Monday of each ScaledObject with the load of a profile, as JSON; none of manifests with an error."""
    from keda_py.validation.report import validate_texts

    report = await validate_texts({"manifest": text})
    refused = any(one.severity == "error" for one in report.problems)
    objects = [body for body in report.release.completed if body["kind"] == "ScaledObject" and not refused]
    return json.dumps([await day_of(body, profile) for body in objects])


async def day_of(body: Mapping[str, Any], profile: str) -> dict[str, Any]:
    """Simulate a Monday, from midnight in the zone of the object's windows, and return its picture and figures."""
    from zoneinfo import ZoneInfo

    from keda_py.errors import ConfigError
    from keda_py.replay.engine.setting import Cluster
    from keda_py.simulation.loads.profiles import Profile
    from keda_py.simulation.runs.run import Run, simulate_run

    triggers = body["spec"]["triggers"]
    zones = [one["metadata"]["timezone"] for one in triggers if one["type"] == "cron"]
    origin = datetime(2026, 11, 2, tzinfo=ZoneInfo(zones[0] if zones else "UTC"))
    title = body["metadata"]["name"]
    if any(one["type"] in _PODS for one in triggers):
        return {"title": title, "problem": "a trigger measures pods; `keda-py simulate` draws its day"}
    try:
        result = await simulate_run(
            Run(
                title=title,
                body=body,
                load=Profile(name=profile, origin=origin, end=86400.0),
                cluster=Cluster(ready_after=30.0),
            )
        )
    except ConfigError as error:
        return {"title": title, "problem": str(error)}
    return _day(result, origin)


def _day(result: "Result", origin: datetime) -> dict[str, Any]:
    from keda_py.simulation.reports.page import draw_result
    from keda_py.simulation.reports.report import Report

    report = Report(origin=origin, results=(result,))
    svg = draw_result(report, result, _DAY_STYLE)
    return {"title": result.title, "svg": svg, "figures": [list(row) for row in report.rows(result.figures)]}
