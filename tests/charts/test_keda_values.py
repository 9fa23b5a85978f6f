"""A values file for KEDA's chart, given to ours: what carries over, what is told, what is refused."""

from pathlib import Path
from typing import Any

import pytest

from tests.charts.rendering import KEDA_PY, Obj, helm, only, render
from tests.documents import read_file

KEDAS: dict[str, Any] = read_file(Path(__file__).with_name("keda-chart-values.yaml"))
IDLE = (KEDA_PY / "idle-values.txt").read_text().split()
OURS: Obj = read_file(KEDA_PY / "values.yaml")
REFUSED = {
    "watchLabelSelector",
    "watchLabelSelectorForTriggerauth",
    "prometheus.operator.serviceMonitor.relabellings",
}
DIFFERENT = {
    "image.keda.registry": "there is no published image",
    "image.keda.repository": "there is no published image",
    "image.pullPolicy": "tags are not overwritten",
    "networkPolicy.flavor": "Cilium's own kind is not made here",
    "operator.readinessProbe.initialDelaySeconds": "it is ready within seconds",
    "webhooks.port": "the default is written out",
    "logging.operator.format": "logs are collected more often than read in a terminal",
    "prometheus.operator.enabled": "metrics cost nothing until they are scraped",
    "certificates.operator": "KEDA has its table in comments",
    "resources.operator.limits.cpu": "the same amount, as text",
    "resources.operator.requests.memory": "one pod is all three of KEDA's, which ask for 100Mi each",
}

BUILT = (
    "give --set image.keda.registry=REGISTRY after `docker build -t REGISTRY/keda-py:0.1.0 .` and "
    "`docker push REGISTRY/keda-py:0.1.0` in this project's folder"
)


def nested(flat: dict[str, Any]) -> Obj:
    """`{"a.b": 1}` as `{"a": {"b": 1}}`."""
    tree: Obj = {}
    for path, value in flat.items():
        *parents, last = path.split(".")
        place = tree
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return tree


def ours(path: str) -> Any:
    """Our default; KeyError where the value is not known."""
    place: Any = OURS
    for part in path.split("."):
        place = place[part]
    return place


def is_idle(path: str) -> bool:
    return any(path == one or path.startswith(f"{one}.") for one in IDLE)


def test_the_defaults_of_kedas_chart_install_once_the_image_is_named() -> None:
    own = {
        "image.keda.repository": "keda-py",
        "image.keda.registry": "example.org",
        "networkPolicy.flavor": "kubernetes",
    }
    pod = only(render(**nested(KEDAS | own)), "Deployment", "keda-operator", "keda")["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "example.org/keda-py:0.1.0"


@pytest.mark.parametrize("path", KEDAS)
def test_each_of_its_values_is_known_told_or_refused(path: str) -> None:
    if path in REFUSED or is_idle(path):
        return
    default = ours(path)
    assert path in DIFFERENT or default == KEDAS[path] or not (default or KEDAS[path])


def notes(values: Obj) -> str:
    """The notes after an install without definitions, which take three quarters of the time and say nothing here."""
    values = {"crds.install": False, **values}
    with helm().Chart.load(str(KEDA_PY)) as chart:
        said = chart.render(nested(values), name="keda", namespace="keda")["keda-py/templates/NOTES.txt"]
    return " ".join(said.split())


def test_without_an_image_the_notes_tell_how_to_build_one() -> None:
    none = "No image is named, and none is published, so the pod waits for one called keda-py:0.1.0: "
    assert f"{none}{BUILT}." in notes({})
    assert BUILT.replace("0.1.0", "2") in notes({"image.keda.tag": "2"})
    for named in ("image.keda.repository", "image.keda.registry", "global.image.registry"):
        assert none not in notes({named: "here"})


@pytest.mark.parametrize("path", IDLE)
def test_a_value_that_means_nothing_is_told_after_the_install(path: str) -> None:
    assert f"to be set: {path}." in notes({path: {"a": 1}})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"image.keda.repository": "kedacore/keda"}, f"is KEDA's own image; {BUILT}"),
        ({"watchLabelSelector": "a=b"}, "use watchNamespace"),
        ({"networkPolicy.enabled": True, "networkPolicy.flavor": "cilium"}, "write kubernetes"),
        ({"prometheus.operator.serviceMonitor.relabellings": [{"action": "drop"}]}, "write relabelings"),
        ({"podIdentity.aws.irsa.enabled": True}, "roleArn: is missing"),
        ({"podIdentity.gcp.enabled": True}, "gcpIAMServiceAccount: is missing"),
        ({"operator.useHostNetwork": True, "operator.replicaCount": 2}, "operator.affinity"),
        ({"podDisruptionBudget.operator": {"minAvailable": 1, "maxUnavailable": 1}}, "not both"),
        ({"rbac.create": False, "rbac.aggregateToDefaultRoles": True}, "rbac.create"),
    ],
    ids=str,
)
def test_a_value_that_would_mislead_is_refused_with_what_to_write(values: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        render(**nested(values))
