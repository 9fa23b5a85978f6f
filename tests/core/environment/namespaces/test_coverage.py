"""Coverage of namespaces by ClusterEnvironments: guards one by one, and what holds for any states and any order."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.apis.environments.cluster_environment import ClusterEnvironment
from keda_py.core.environment.namespaces.coverage import (
    Coverage,
    NamespacePlan,
    NamespaceSeen,
    Write,
    body_of,
    owner_uid,
    plan_namespace,
)
from keda_py.core.environment.namespaces.report import status_of
from keda_py.core.environment.namespaces.spec import (
    ClusterEnvironmentSpec,
    build_cluster_environment,
    oldest_first,
)
from keda_py.errors import ConfigError

TEMPLATE = {"calendarRef": {"name": "office", "kind": "ClusterCalendar"}}
YES = {"matchLabels": {"sleeps": "yes"}}


def policy(name: str = "office", created: int = 1, **spec: Any) -> ClusterEnvironmentSpec:
    written = {"namespaceSelector": YES, "template": TEMPLATE, **spec}
    meta = {"name": name, "uid": name, "creationTimestamp": f"2026-01-01T00:00:{created:02}Z"}
    return build_cluster_environment(
        ClusterEnvironment.model_validate({"metadata": meta, "spec": written}), written["template"]
    )


def seen(*environments: Mapping[str, Any], name: str = "shop", **labels: str) -> NamespaceSeen:
    return NamespaceSeen(name=name, labels={"sleeps": "yes", **labels}, environments=environments)


def stored(policy: ClusterEnvironmentSpec, /, *, going: bool = False, **changed: Any) -> dict[str, Any]:
    body = body_of(policy, "shop")
    if going:
        body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return body | changed


OWN = {"metadata": {"name": "mine", "namespace": "shop"}, "spec": {}}
OFFICE, SECOND = policy(), policy("second", created=2)

GUARDS = [
    ("a new namespace", OFFICE, seen(), Coverage.COVERED, Write.CREATE),
    ("in step", OFFICE, seen(stored(OFFICE)), Coverage.COVERED, Write.NONE),
    ("edited", OFFICE, seen(stored(OFFICE, spec={"grace": "9h"})), Coverage.COVERED, Write.PUT_BACK),
    ("an older template", policy(template={"calendarRef": {"name": "new"}}), seen(stored(OFFICE)), Coverage.COVERED, Write.UPDATE),
    ("being deleted", OFFICE, seen(stored(OFFICE, going=True)), Coverage.COVERED, Write.NONE),
    ("not selected", policy(exclude=YES), seen(stored(OFFICE)), Coverage.NOT_SELECTED, Write.DELETE),
    ("kube-system", OFFICE, seen(name="kube-system"), Coverage.PROTECTED, Write.NONE),
    ("its own", OFFICE, seen(OWN), Coverage.OWN, Write.NONE),
    ("its own beside ours", OFFICE, seen(stored(OFFICE), OWN), Coverage.OWN, Write.DELETE),
    ("that of an older one", SECOND, seen(stored(OFFICE)), Coverage.OLDER, Write.NONE),
    ("that of one that is gone", OFFICE, seen(stored(SECOND)), Coverage.LEAVING, Write.NONE),
    ("one of our name that is not ours", OFFICE, seen({"metadata": {"name": "office"}, "spec": {}}), Coverage.OWN, Write.NONE),
]  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "found", "coverage", "write"), [row[1:] for row in GUARDS], ids=[row[0] for row in GUARDS]
)
def test_each_guard_has_its_coverage_and_its_write(
    spec: ClusterEnvironmentSpec, found: NamespaceSeen, coverage: Coverage, write: Write
) -> None:
    older = [OFFICE] if spec is SECOND else []
    plan = plan_namespace(spec, older, found)
    assert (plan.coverage, plan.write) == (coverage, write)


def test_what_is_written_is_in_step_and_keeps_what_others_added() -> None:
    edited = stored(OFFICE, spec={"grace": "9h"})
    edited["metadata"] |= {"labels": {"team": "shop"}, "resourceVersion": "7", "finalizers": ["finalizer.keda.sh"]}
    body = body_of(OFFICE, "shop", edited)
    assert plan_namespace(OFFICE, [], seen(body)).write is Write.NONE
    assert body["metadata"]["labels"]["team"] == "shop"
    assert (body["metadata"]["resourceVersion"], body["metadata"]["finalizers"]) == ("7", ["finalizer.keda.sh"])


POLICIES = st.lists(
    st.builds(
        policy,
        name=st.sampled_from(["a", "b", "c"]),
        created=st.integers(0, 3),
        namespaceSelector=st.sampled_from([{}, YES, {"matchLabels": {"tier": "x"}}]),
        exclude=st.sampled_from([None, {"matchLabels": {"tier": "x"}}]),
    ),
    unique_by=lambda one: one.name,
    max_size=3,
)
LABELS = st.dictionaries(st.sampled_from(["sleeps", "tier"]), st.sampled_from(["yes", "x"]))


@st.composite
def namespaces(draw: st.DrawFn) -> tuple[list[ClusterEnvironmentSpec], NamespaceSeen]:
    policies = draw(POLICIES)
    made = [stored(one, going=draw(st.booleans())) for one in policies if draw(st.booleans())]
    own = [OWN] if draw(st.booleans()) else []
    name = draw(st.sampled_from(["shop", "kube-system"]))
    return policies, NamespaceSeen(name=name, labels=draw(LABELS), environments=[*made, *own])


def _carried_out(plans: list[tuple[ClusterEnvironmentSpec, NamespacePlan]], before: NamespaceSeen) -> NamespaceSeen:
    """The namespace after all writes, and after every Environment that is being deleted has gone."""
    left = [one for one in before.environments if not one["metadata"].get("deletionTimestamp")]
    for spec, plan in plans:
        left = [one for one in left if not (plan.write and owner_uid(one) == spec.uid)]
        if plan.write in (Write.CREATE, Write.UPDATE, Write.PUT_BACK):
            left.append(body_of(spec, before.name, plan.live if plan.write is not Write.CREATE else None))
    return NamespaceSeen(name=before.name, labels=before.labels, environments=left)


def _plans(
    policies: list[ClusterEnvironmentSpec], found: NamespaceSeen
) -> list[tuple[ClusterEnvironmentSpec, NamespacePlan]]:
    ordered = oldest_first(policies)
    return [(one, plan_namespace(one, ordered[:at], found)) for at, one in enumerate(ordered)]


@given(namespaces())
def test_one_environment_at_most_is_in_force_and_the_writes_come_to_an_end(
    case: tuple[list[ClusterEnvironmentSpec], NamespaceSeen],
) -> None:
    policies, found = case
    for _ in range(4):
        found = _carried_out(_plans(policies, found), found)
    assert [plan.write for _, plan in _plans(policies, found) if plan.write] == []
    ours = [one for one in found.environments if owner_uid(one) in {spec.uid for spec in policies}]
    own = [one for one in found.environments if not owner_uid(one)]
    selecting = [
        one
        for one in oldest_first(policies)
        if one.selects({"kubernetes.io/metadata.name": found.name, **found.labels})
    ]
    if own or found.name == "kube-system" or not selecting:
        assert ours == []
    else:
        assert [owner_uid(one) for one in ours] == [selecting[0].uid]


@given(namespaces())
def test_what_is_not_ours_is_never_written(case: tuple[list[ClusterEnvironmentSpec], NamespaceSeen]) -> None:
    policies, found = case
    for spec, plan in _plans(policies, found):
        assert plan.live is None or owner_uid(plan.live) == spec.uid
        if plan.write not in (Write.NONE, Write.CREATE):
            assert plan.live is not None


PHASES = st.sampled_from(["", "Asleep", "Waking", "Awake", "FallingAsleep", "Nonsense", 7])
STATUSES = st.fixed_dictionaries(
    {"phase": PHASES, "conditions": st.sampled_from([None, 3, [{"type": "Contested", "status": "True"}], [{"type": "Valid", "status": "False"}], [7]])},
)  # fmt: skip


@given(st.lists(st.tuples(STATUSES, st.booleans()), max_size=20))
def test_each_covered_namespace_counts_once_whatever_its_status_says(found: list[tuple[dict[str, Any], bool]]) -> None:
    plans, errors = [], {}
    for number, (status, fails) in enumerate(found):
        live = {**stored(OFFICE), "status": status}
        plans.append(NamespacePlan(namespace=f"n{number}", coverage=Coverage.COVERED, live=live))
        if fails:
            errors[f"n{number}"] = "forbidden"
    counted = status_of(OFFICE, plans, {}, errors).namespaces
    sums = (counted.awake, counted.asleep, counted.waking, counted.falling_asleep)
    assert sum((*sums, counted.contested, counted.failed, counted.pending)) == counted.covered == len(found)
    assert counted.failed >= len(errors)


def test_a_name_that_fits_in_no_label_is_refused_with_the_other_mistakes() -> None:
    with pytest.raises(ConfigError) as caught:
        policy("a" * 64, order=[{"name": "rest", "selector": {}}, {"name": "b", "selector": {}, "timeout": "soon"}])
    assert [one.field for one in caught.value.each] == ["metadata.name", "spec.order[0].name", "spec.order[1].timeout"]
