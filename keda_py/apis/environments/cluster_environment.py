"""ClusterEnvironment: one policy of sleep for all namespaces that a selector matches.

Each of these namespaces has an Environment with the spec of `template`, which the operator keeps as it is written here.
"""

from typing import Annotated

from pydantic import Field

from keda_py.apis.environments.environment import EnvironmentSpec
from keda_py.apis.job_spec import LabelSelector
from keda_py.apis.schema_marks import BY_NAME
from keda_py.apis.wire import Condition, Count, Name, ObjectMeta, Wire

MOST_GROUPS = 20


class NamespaceGroup(Wire):
    """Namespaces that wake together, before the groups after it."""

    name: Name
    """Name in the status and in messages; `rest` is reserved for the namespaces without a group."""
    selector: LabelSelector
    """Namespaces of this group, by their labels."""
    timeout: str = ""
    """How long the groups after it wait for this one; 5m by default."""


class ClusterEnvironmentSpec(Wire):
    """Namespaces, the Environment that each of them has, and the order between them."""

    namespace_selector: LabelSelector
    """Namespaces with these labels; {} for all. kube-system and the operator's own namespace are never covered."""
    exclude: LabelSelector | None = None
    """Excludes namespaces with these labels."""
    order: Annotated[list[NamespaceGroup], Field(max_length=MOST_GROUPS, json_schema_extra=BY_NAME)] = []
    """In the order of waking; namespaces without a group come last. They fall asleep in reverse order."""
    template: EnvironmentSpec
    """Spec of the Environment of each namespace."""


class NamespaceCounts(Wire):
    """Number of namespaces; each that is covered counts once, as one of awake to pending."""

    covered: Count = 0
    awake: Count = 0
    asleep: Count = 0
    waking: Count = 0
    falling_asleep: Count = 0
    contested: Count = 0
    """Another controller puts counts back there."""
    failed: Count = 0
    """Its Environment is invalid, cannot be written, or cannot give its counts back."""
    pending: Count = 0
    """Its Environment is yet to be created, or has not been looked at."""
    own: Count = 0
    """Namespaces with an Environment of their own, which is in force instead."""
    older: Count = 0
    """Namespaces that an older ClusterEnvironment covers."""


class NamespaceTrouble(Wire):
    """Namespace that needs a person."""

    namespace: str = ""
    reason: str = ""
    message: str = ""


class GroupStatus(Wire):
    """Progress of a group of `order`."""

    name: str = ""
    awake: Count = 0
    total: Count = 0


class ClusterEnvironmentStatus(Wire):
    """What the covered namespaces do, and which of them need a person."""

    namespaces: NamespaceCounts = NamespaceCounts()
    groups: list[GroupStatus] = []
    needs_person: list[NamespaceTrouble] = []
    """The first ten namespaces that need a person."""
    own: list[str] = []
    """The first ten namespaces with an Environment of their own."""
    conditions: list[Condition] = []


class ClusterEnvironment(Wire):
    """Policy of sleep for all namespaces that a selector matches."""

    metadata: ObjectMeta
    spec: ClusterEnvironmentSpec
    status: ClusterEnvironmentStatus = ClusterEnvironmentStatus()
