"""Objects of a cluster -> accounts: ledgers of statuses, requests of workloads, the Environment that has each object.

A ledger is stored when a reason changes, or once in six hours where counts move; from then until now it goes on here.
What slept or woke meanwhile would have been written: one that is asleep still was asleep all the time, one that is
awake still had replicas, of which the lower of both counts is taken. All else is not known, and counts for nothing.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from keda_py.apis.environments.environment import MOST_WITH_DAYS, Environment
from keda_py.apis.environments.override import Override
from keda_py.apis.foreign import Obj, map_at, name_of, namespace_of, text_at, value_at
from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaledObject
from keda_py.apis.scaled_object_status import SavingsStatus
from keda_py.apis.workloads import Amounts, Workload
from keda_py.apis.workloads import Container as PodContainer
from keda_py.core.defaults.filling import FindLayers, fill_scaled_object
from keda_py.core.environment.overrides import OverrideSpec, read_override
from keda_py.core.environment.spec import EnvironmentSpec, build_environment, owner_of
from keda_py.core.savings.ledger import Ledger, note, read_ledger
from keda_py.core.savings.statement import Account, ResourceRequest
from keda_py.core.spec import AS_WRITTEN, ScalingSpec
from keda_py.core.spec_rules import may_sleep
from keda_py.core.spec_source import SpecSource
from keda_py.core.values.quantity import parse_milli
from keda_py.errors import ConfigError

SAVINGS = "kedaPySavings"
Workloads = Mapping[tuple[str, str, str], Obj]
"""(kind, namespace, name) -> workload."""


def read_accounts(
    scaled_objects: Sequence[Obj],
    workloads: Workloads,
    environments: Sequence[Obj],
    now: datetime,
    layers: FindLayers = lambda _: (),
) -> list[Account]:
    """Build the accounts of objects with a ledger, sorted; a ScaledObject accounts for the workload that it scales.

    `layers` are the defaults of a namespace.
    """
    specs = list(_environments(environments))
    source = AS_WRITTEN.built_by(lambda obj: fill_scaled_object(obj, layers(obj.metadata.namespace)))
    found = [_account(body, source, workloads, specs, now) for body in scaled_objects]
    scaled = {_target(body) for body, account in zip(scaled_objects, found, strict=True) if account is not None}
    others = (one for body in environments for one in _accounts_of(body, scaled, workloads, now))
    known = [*(one for one in found if one is not None), *others]
    return sorted(known, key=lambda one: (one.namespace, one.name, one.kind))


def count_waiting(scaled_objects: Iterable[Obj], environments: Iterable[Obj]) -> int:
    """Count the objects that have no account yet."""
    without = [body for body in scaled_objects if read_ledger(map_at(body, "status", SAVINGS)) is None]
    closed = [body for body in environments if not map_at(body, "status", "savings")]
    return len(without) + len(closed)


def count_without_days(environments: Iterable[Obj]) -> dict[str, int]:
    """Environments with so many workloads that no days of these are kept: namespace/name -> how many."""
    counts = {f"{namespace_of(body)}/{name_of(body)}": len(map_at(body, "status", "savings")) for body in environments}
    return {name: count for name, count in counts.items() if count > MOST_WITH_DAYS}


def _target(body: Obj) -> tuple[str, str, str]:
    kind = text_at(body, "spec", "scaleTargetRef", "kind") or "Deployment"
    return kind, namespace_of(body), text_at(body, "spec", "scaleTargetRef", "name")


def _accounts_of(
    environment: Obj, scaled: Container[tuple[str, str, str]], workloads: Workloads, now: datetime
) -> Iterator[Account]:
    """Yield the accounts of the members that no ScaledObject scales."""
    for key, stored in map_at(environment, "status", "savings").items():
        kind, _, name = key.partition("/")
        place = kind, namespace_of(environment), name
        ledger = _ledger_of(stored)
        if ledger is not None and place not in scaled:
            workload = workloads.get(place)
            yield Account(
                kind=kind,
                namespace=place[1],
                name=name,
                environment=name_of(environment),
                ledger=_until(ledger, value_at(workload, "spec", "replicas"), now),
                request=request_of(workload),
                minimum=1,
                maximum=1,
                sleeps=True,
            )


def _account(
    body: Obj,
    source: SpecSource[ScaledObject, ScalingSpec],
    workloads: Workloads,
    environments: Sequence[EnvironmentSpec],
    now: datetime,
) -> Account | None:
    """Build one account; None without a ledger, or if the object cannot be read."""
    ledger = read_ledger(map_at(body, "status", SAVINGS))
    try:
        spec = source.read(body)
    except ConfigError:
        return None
    if ledger is None:
        return None
    workload = workloads.get((spec.target.kind, spec.namespace, spec.target.name))
    here = [environment for environment in environments if environment.namespace == spec.namespace]
    owner = owner_of(here, spec.labels, spec.annotations)
    return Account(
        namespace=spec.namespace,
        name=spec.name,
        environment=owner.name if owner is not None else "",
        ledger=_until(ledger, value_at(workload, "spec", "replicas"), now),
        request=request_of(workload),
        minimum=spec.min_replicas,
        maximum=spec.max_replicas,
        sleeps=may_sleep(spec),
        failing=tuple(_failing(spec, body)),
    )


def _ledger_of(stored: object) -> Ledger | None:
    """Read the ledger of an Environment's member, in which zeros are left out; None if it is malformed."""
    try:
        return read_ledger(SavingsStatus.model_validate(stored).model_dump(by_alias=True))
    except ValueError:
        return None


def _until(ledger: Ledger, live: object, now: datetime) -> Ledger:
    """Continue a stored ledger until now; `live` is the present count of the workload if that is known."""
    held = ledger.held
    # A count that crossed 0 changed at an unknown time, so nothing is claimed for the time since the last write.
    if not isinstance(live, int) or (live > 0) != (held.count > 0):
        return ledger
    # The lower of both counts: the figure may be too small, never too large.
    least = replace(held, count=min(live, held.count))
    return note(replace(ledger, held=least), now, least, before=least.count)


def _failing(spec: ScalingSpec, body: Obj) -> Iterator[str]:
    for metric, health in map_at(body, "status", "health").items():
        if isinstance(health, dict) and health.get("status") == "Failing":
            yield metric


def read_overrides(overrides: Iterable[Obj], environments: Iterable[Obj]) -> list[tuple[str, OverrideSpec]]:
    """List the Overrides whose times are known, with their namespaces."""
    only: dict[str, str] = {}
    for environment in _environments(environments):
        only[environment.namespace] = "" if environment.namespace in only else environment.name
    return list(_overrides(overrides, only))


def _overrides(bodies: Iterable[Obj], only: Mapping[str, str]) -> Iterator[tuple[str, OverrideSpec]]:
    for body in bodies:
        namespace = namespace_of(body)
        try:
            yield namespace, read_override(parse_object(Override, body), None, environment=only.get(namespace, ""))
        except ConfigError:
            continue  # it rules nothing, or not yet


def _environments(bodies: Iterable[Obj]) -> Iterator[EnvironmentSpec]:
    for body in bodies:
        try:
            yield build_environment(parse_object(Environment, body))
        except ConfigError:
            continue  # it has no members


def request_of(workload: Obj | None) -> ResourceRequest:
    """Sum up the containers of one replica, for each resource that all of them request."""
    if workload is None:
        return ResourceRequest()
    try:
        containers = parse_object(Workload, workload).spec.template.spec.containers
    except ConfigError:
        return ResourceRequest()
    requests = [_requests(container) for container in containers]
    return ResourceRequest(cpu=_sum_of(requests, "cpu"), memory=_sum_of(requests, "memory"))


def _sum_of(requests: Iterable[Amounts], resource: str) -> float | None:
    try:
        return sum(parse_milli(request[resource]) for request in requests) / 1000
    except (ConfigError, KeyError):
        return None


def _requests(container: PodContainer) -> Amounts:
    """Read the requests of a container; a missing one is the limit, as the API server defaults it."""
    resources = container.resources
    return {} if resources is None else {**(resources.limits or {}), **(resources.requests or {})}


def indexed(bodies: Iterable[Obj], kind: str) -> dict[tuple[str, str, str], Obj]:
    """Index objects by kind, namespace and name."""
    return {(kind, namespace_of(body), name_of(body)): body for body in bodies}
