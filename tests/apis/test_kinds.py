"""The table of kinds: what a row provides, and that no other list of kinds exists."""

import ast
from typing import Any

import pytest

from keda_py.apis.kinds.crds import crd_of
from keda_py.apis.kinds.kind import KindRow, PrinterColumn
from keda_py.apis.kinds.table import KINDS
from keda_py.apis.wire import ObjectMeta, Wire
from keda_py.core.admission.checks import check_of
from keda_py.errors import ConfigError
from keda_py.kube.resources import OURS, resource_of
from keda_py.operator.admission.match_conditions import match_conditions
from keda_py.operator.admission.paths import WEBHOOKS, webhook_of
from keda_py.readings import journal_bytes
from keda_py.validation.schemas import our_kinds
from tests.charts.rendering import only, render
from tests.definitions import DEFINITIONS
from tests.places import ROOT

KEDA_PY = ROOT / "keda_py"
ALL_KINDS: dict[str, Any] = {"clusterEnvironments": {"enabled": True}, "kedaDefaults": {"enabled": True}}
"""Values with which the chart installs every kind."""
ROWS = [pytest.param(kind, id=kind.name) for kind in KINDS]


class ScalingScheduleSpec(Wire):
    """Spec with a single field."""

    region: str


class ScalingSchedule(Wire):
    """Kind that could be added one day."""

    metadata: ObjectMeta
    spec: ScalingScheduleSpec
    status: ScalingScheduleSpec | None = None


TOY = KindRow(
    model=ScalingSchedule,
    webhook="vscalingschedule",
    short_names=("ss",),
    columns=(PrinterColumn(name="Region", path=".spec.region"),),
)


def test_a_row_is_enough_for_a_definition_a_path_and_a_webhook() -> None:
    spec = crd_of(TOY)["spec"]
    assert spec["names"] == {
        "kind": "ScalingSchedule",
        "listKind": "ScalingScheduleList",
        "plural": "scalingschedules",
        "singular": "scalingschedule",
        "shortNames": ["ss"],
    }
    (version,) = spec["versions"]
    assert version["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"] == ["region"]
    assert resource_of(TOY).collection("shop") == "/apis/keda.sh/v1alpha1/namespaces/shop/scalingschedules"
    webhook = webhook_of(TOY)
    assert (webhook.name, webhook.path) == ("vscalingschedule.kb.io", "/validate-keda-sh-v1alpha1-scalingschedule")


def test_a_kind_without_checks_of_its_own_is_read_all_the_same() -> None:
    check = check_of(ScalingSchedule)
    body: dict[str, Any] = {"metadata": {"name": "night"}, "spec": {"region": "eu"}}
    assert list(check(body)) == []
    with pytest.raises(ConfigError, match=r"spec\.region"):
        list(check({**body, "spec": {}}))


@pytest.mark.parametrize("kind", ROWS)
def test_every_row_is_defined_served_admitted_and_validated(kind: KindRow) -> None:
    assert crd_of(kind) in DEFINITIONS
    assert resource_of(kind) in OURS
    assert webhook_of(kind) in WEBHOOKS
    assert (kind.api_version, kind.name) in our_kinds()
    assert {len(DEFINITIONS), len(OURS), len(WEBHOOKS), len(our_kinds())} == {len(KINDS)}


def test_a_journal_of_an_older_process_is_read_with_the_same_kinds() -> None:
    assert journal_bytes.KINDS[:2] == ("ScaledObject", "ScaledJob")


def test_the_chart_registers_the_webhooks_of_the_table() -> None:
    objects = render(**ALL_KINDS)
    entries = only(objects, "ValidatingWebhookConfiguration", "keda-admission")["webhooks"]
    told = {(one["name"], one["clientConfig"]["service"]["path"], *one["rules"][0]["resources"]) for one in entries}
    assert told == {(one.name, one.path, one.plural) for one in WEBHOOKS}


def test_the_chart_registers_the_operators_conditions_with_the_name_of_its_account() -> None:
    for one in only(render(), "ValidatingWebhookConfiguration", "keda-admission")["webhooks"]:
        assert one["matchConditions"] == match_conditions("system:serviceaccount:keda:keda-operator")


@pytest.mark.parametrize("kind", ROWS)
def test_the_chart_lets_the_operator_watch_the_kinds_of_the_table(kind: KindRow) -> None:
    rules = only(render(**ALL_KINDS), "ClusterRole", "keda-operator")["rules"]
    verbs = {
        verb
        for one in rules
        if kind.group in one["apiGroups"] and kind.plural in one["resources"]
        for verb in one["verbs"]
    }
    assert {"list", "watch"} <= verbs


def test_no_other_file_lists_the_kinds() -> None:
    lists = {}
    for path in KEDA_PY.rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        if sum(kind.singular in code.lower() for kind in KINDS) <= 5:
            continue  # to parse all takes a second of CPU
        texts = {
            node.value.lower()
            for node in ast.walk(ast.parse(code))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        named = [kind.name for kind in KINDS if {kind.singular, kind.plural} & texts]
        if len(named) > 5:  # Events have types for five of them, and five rule a preview
            lists[str(path.relative_to(KEDA_PY))] = named
    assert lists == {}
