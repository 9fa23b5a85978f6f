"""Defaults that a cluster's operator was started with, as its Deployment says: `kedaDefaults` of the chart.

In: Deployments with the labels of the chart's operator. Next: `cluster.py`, which lays them below the objects.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from keda_py.apis.foreign import Obj, list_at, maps_at, name_of, namespace_of, text_at
from keda_py.apis.go_values import parse_bool
from keda_py.errors import ConfigError
from keda_py.kube.resources import Selection
from keda_py.settings.environments import EnvironmentSettings, parse_defaults
from keda_py.settings.options import options_of

OPERATORS = Selection(labels="app.kubernetes.io/part-of=keda-py,app.kubernetes.io/component=operator")
_OPTIONS = {name: known for name, known, _ in options_of(EnvironmentSettings)}


@dataclass(frozen=True, slots=True)
class InstalledDefaults:
    """`values` is the spec that holds everywhere. `obeys_objects`: KedaDefaults and ClusterKedaDefaults hold, too."""

    values: Mapping[str, Any]
    obeys_objects: bool


def installed_defaults(operators: Sequence[Obj]) -> InstalledDefaults | None:
    """Read what all operators agree on; None without one. Raises ConfigError if it cannot be known."""
    found = [_read(one) for one in operators]
    if any(one != found[0] for one in found):
        names = ", ".join(sorted(f"{namespace_of(one)}/{name_of(one)}" for one in operators))
        raise ConfigError(f"the operators {names} were started with different ones")
    return next(iter(found), None)


def _read(deployment: Obj) -> InstalledDefaults:
    title = f"Deployment {namespace_of(deployment)}/{name_of(deployment)}"
    containers = maps_at(deployment, "spec", "template", "spec", "containers")
    container = next((one for one in containers if "operator" in list_at(one, "args")), {})
    try:
        text, obeys = (_text(container, name) for name in ("default_values", "keda_defaults"))
        if text:
            parse_defaults(text)
        return InstalledDefaults(orjson.loads(text or "{}"), parse_bool(obeys or "false"))
    except (argparse.ArgumentError, ValueError) as error:
        raise ConfigError(f"{title}: they cannot be read: {error}") from None


def _text(container: Obj, name: str) -> str:
    """Return the text of an option as the operator reads it: of its flag, else of its variable; "" without either.

    Raises ValueError for a variable whose value the manifest does not hold.
    """
    option = _OPTIONS[name]
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument(f"--{option.flag}", dest="given", nargs="?", const="true")
    given = parser.parse_known_args(list(map(str, list_at(container, "args"))))[0].given
    variables = (one for one in maps_at(container, "env") if text_at(one, "name") == option.env)
    if given is not None or (variable := next(variables, None)) is None:
        return given or ""
    if "valueFrom" in variable:
        raise ValueError(f"{option.env} comes from another object")
    return text_at(variable, "value")
