"""A scaleTargetRef compared with the workloads of the same files: is its name, kind or namespace nearly one of theirs?

Pure. A target that resembles none of them may be in the cluster, or in other files: there is no warning about it.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.spec import ScalingSpec

_WORKLOADS = ("apps/v1.Deployment", "apps/v1.StatefulSet", "apps/v1.ReplicaSet")
_MOST_COMPARED = 200
_FIELD = "spec.scaleTargetRef"


@dataclass(frozen=True, slots=True)
class LocatedObject:
    """An object of the files; `kind_name` as in `TargetSpec`, `namespace` "" if none is written."""

    kind_name: str
    namespace: str
    name: str


def check_target(
    spec: ScalingSpec, namespace: str, there: Mapping[str, Collection[LocatedObject]]
) -> Iterator[AdmissionWarning]:
    """Compare the target with the objects by name; `namespace` is the ScaledObject's, "" if it names none."""
    kind_name, name = spec.target.kind_name, spec.target.name
    named = there.get(name, ())
    if any(one.kind_name == kind_name and _meets(one.namespace, namespace) for one in named):
        return
    where = namespace or "default"
    other_kind = sorted(
        one.kind_name for one in named if (one.namespace or "default") == where and one.kind_name in _WORKLOADS
    )
    elsewhere = sorted(one.namespace for one in named if one.kind_name == kind_name and one.namespace and namespace)
    near = get_close_matches(name, islice(_alike(there, kind_name, where), _MOST_COMPARED), n=1)
    absent = f'{kind_name} "{name}" is not in these files'
    if other_kind:
        yield _warn("kind", f'{absent}, {other_kind[0]} "{name}" is; set apiVersion and kind')
    elif near:
        yield _warn("name", f'{absent}; did you mean "{near[0]}"?')
    elif elsewhere:
        yield _warn("name", f'{absent} in namespace "{namespace}", but in "{elsewhere[0]}"; both must be in one')


def _alike(there: Mapping[str, Collection[LocatedObject]], kind_name: str, namespace: str) -> Iterator[str]:
    for name, many in there.items():
        if any(one.kind_name == kind_name and (one.namespace or "default") == namespace for one in many):
            yield name


def _meets(one: str, other: str) -> bool:
    """Whether two namespaces may be the same: without a name it depends on how the files are applied."""
    return not one or not other or one == other


def _warn(key: str, text: str) -> AdmissionWarning:
    field = f"{_FIELD}.{key}"
    return AdmissionWarning(message=f"{field}: {text}", field=field, code=codes.NO_TARGET)
