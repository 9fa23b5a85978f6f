"""ClusterEnvironment -> ClusterEnvironmentSpec: selectors and durations read, the template checked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from keda_py.apis.environments.cluster_environment import ClusterEnvironment, NamespaceGroup
from keda_py.apis.environments.environment import Environment
from keda_py.core.environment.spec import DEFAULT_TIMEOUT, REST, build_environment
from keda_py.core.values.durations import parse_duration
from keda_py.core.values.mistakes import Mistakes
from keda_py.core.values.selecting import build_selector
from keda_py.core.values.selectors import LabelSelector
from keda_py.core.values.times import parse_time, write_time
from keda_py.errors import ConfigError

NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""Label of each namespace with its own name, which the API server sets."""
CLUSTERS_OWN: Final = ("kube-system", "kube-public", "kube-node-lease")
"""Namespaces that no ClusterEnvironment covers, beside the operator's own: a cluster that is asleep wakes nothing."""
LONGEST_NAME = 63
"""Characters of a label's value: each Environment has the name in a label."""
_ANY_TIME = write_time(datetime(2026, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSpec:
    """Namespaces that wake together."""

    name: str
    selector: LabelSelector
    timeout: timedelta = DEFAULT_TIMEOUT


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEnvironmentSpec:
    """Everything that decisions need to know of a ClusterEnvironment; `template` is the spec as it is written."""

    name: str
    uid: str
    created: datetime
    selector: LabelSelector
    exclude: LabelSelector | None = None
    order: tuple[GroupSpec, ...] = ()
    template: Mapping[str, Any]
    deleting: bool = False

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether it covers a namespace with these labels, if no older one does."""
        body = {"metadata": {"labels": labels}}
        excluded = self.exclude is not None and self.exclude.matches(body)
        return not self.deleting and not excluded and self.selector.matches(body)

    def group_of(self, labels: Mapping[str, str]) -> int:
        """Return the position of its group; the number of groups for a namespace of none."""
        body = {"metadata": {"labels": labels}}
        found = (at for at, group in enumerate(self.order) if group.selector.matches(body))
        return next(found, len(self.order))

    def group_name(self, position: int) -> str:
        """Name the group at a position, also that of the namespaces of no group."""
        return self.order[position].name if position < len(self.order) else REST


def build_cluster_environment(written: ClusterEnvironment, template: Mapping[str, Any]) -> ClusterEnvironmentSpec:
    """Build the spec; `template` is that of the object as it was written, which `check_template` checks. Raises
    ConfigError naming field, value and remedy.
    """
    meta, spec, mistakes = written.metadata, written.spec, Mistakes()
    with mistakes.noted():
        if len(meta.name) > LONGEST_NAME:
            text = f"{meta.name[:LONGEST_NAME]!r} has more than {LONGEST_NAME} characters; choose a shorter name"
            raise ConfigError(f"metadata.name: {text}", field="metadata.name")
    with mistakes.noted():
        selector = build_selector(spec.namespace_selector, "spec.namespaceSelector")
    with mistakes.noted():
        exclude = build_selector(spec.exclude, "spec.exclude")
    order = _build_order(spec.order, mistakes)
    mistakes.refuse()
    return ClusterEnvironmentSpec(
        name=meta.name,
        uid=meta.uid,
        created=parse_time(meta.creation_timestamp, field="metadata.creationTimestamp"),
        selector=selector or LabelSelector(),
        exclude=exclude,
        order=order,
        template=template,
        deleting=bool(meta.deletion_timestamp),
    )


def environment_of_template(written: ClusterEnvironment) -> Environment:
    """Return the Environment that a namespace gets, as a model."""
    meta = written.metadata.model_copy(update={"creation_timestamp": _ANY_TIME})
    return Environment(metadata=meta, spec=written.spec.template)


def check_template(written: ClusterEnvironment) -> None:
    """Check the template as far as a controller of Environments does. Raises ConfigError by the template's fields."""
    try:
        build_environment(environment_of_template(written))
    except ConfigError as error:
        raise of_template(error) from None


def of_template(error: ConfigError) -> ConfigError:
    """Return an error about an Environment as one about a template."""
    texts = [str(one).replace("spec", "spec.template", 1) for one in error.each]
    field = (error.field or "spec").replace("spec", "spec.template", 1)
    parts = [ConfigError(text, field=field) for text in texts]
    return ConfigError("; ".join(texts), field=field, parts=parts if len(parts) > 1 else ())


def _build_order(groups: Sequence[NamespaceGroup], mistakes: Mistakes) -> tuple[GroupSpec, ...]:
    built, names = [], [group.name for group in groups]
    for number, group in enumerate(groups):
        field = f"spec.order[{number}]"
        with mistakes.noted():
            if group.name in names[:number] or group.name == REST or len(group.name) > LONGEST_NAME:
                text = f"{group.name[:LONGEST_NAME]!r} is taken or longer than {LONGEST_NAME} characters"
                raise ConfigError(
                    f"{field}.name: {text}; give each group a short name of its own", field=f"{field}.name"
                )
        with mistakes.noted():
            selector = build_selector(group.selector, f"{field}.selector") or LabelSelector()
            timeout = parse_duration(group.timeout, DEFAULT_TIMEOUT, field=f"{field}.timeout")
            built.append(GroupSpec(name=group.name, selector=selector, timeout=timeout))
    return tuple(built)


def oldest_first(specs: Iterable[ClusterEnvironmentSpec]) -> list[ClusterEnvironmentSpec]:
    """Sort ClusterEnvironments; the oldest that selects a namespace covers it."""
    return sorted(specs, key=lambda one: (one.created, one.uid))
