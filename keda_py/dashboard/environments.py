"""Environments as the page shows them: problems in their conditions, and their members. Pure.

The words are those of `keda-py env`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from keda_py.apis.environments.environment import Environment
from keda_py.apis.foreign import name_of, namespace_of, text_at
from keda_py.apis.parsing import parse_object
from keda_py.core.environment.spec import EnvironmentSpec, build_environment
from keda_py.environments.further import Key
from keda_py.environments.members import in_order
from keda_py.environments.words import wrong_of
from keda_py.errors import ConfigError
from keda_py.kube.resources import Obj

MOST_MEMBERS = 100
LONGEST_COMPLAINT = 500
Fields = Mapping[str, Any]


class EnvironmentDetails:
    """Details of Environments, from these and their possible members, all given with their kind."""

    def __init__(self, environments: Iterable[Fields], candidates: Iterable[Fields]) -> None:
        self._lives: defaultdict[str, dict[Key, Obj]] = defaultdict(dict)
        for live in candidates:
            self._lives[namespace_of(live)][text_at(live, "kind"), name_of(live)] = dict(live)
        self._read = {(namespace_of(live), name_of(live)): _read(live) for live in environments}
        self._specs: defaultdict[str, list[EnvironmentSpec]] = defaultdict(list)
        for read in self._read.values():
            if read is not None:
                self._specs[read[1].namespace].append(read[1])

    def of(self, live: Fields) -> Fields:
        """Return the problems and members of one Environment; an unreadable one has no members."""
        read = self._read.get((namespace_of(live), name_of(live)))
        if read is None:
            return {"wrong": ["its spec cannot be read; keda-py validate says why"], "members": [], "moreMembers": 0}
        environment, spec = read
        found = in_order(environment, spec, self._specs[spec.namespace], self._lives[spec.namespace])
        told = [
            {"member": one.key, "wave": one.wave, "state": one.state, "replicas": one.replicas, "why": one.why}
            for one in islice(found, MOST_MEMBERS)
        ]
        wrong = [complaint[:LONGEST_COMPLAINT] for complaint in wrong_of(environment.status)]
        return {"wrong": wrong, "members": told, "moreMembers": len(found) - len(told)}


def _read(live: Fields) -> tuple[Environment, EnvironmentSpec] | None:
    try:
        environment = parse_object(Environment, dict(live))
        return environment, build_environment(environment)
    except ConfigError:
        return None
