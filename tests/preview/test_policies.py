"""ClusterEnvironments of files: previewed in the namespaces that they select, and told by `validate --notes`."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.cli import main
from keda_py.kube.resources import Obj
from tests.builders import a_namespace, cron_job, deployment, environment, obj
from tests.operator.environments.builders import labelled
from tests.preview.builders import look, moves, the

TEMPLATE = {"calendar": {"timeZone": "UTC", "hours": [{"days": "Mon-Fri", "from": "08:00", "to": "18:00"}]}}


def policy(name: str = "office", **spec: Any) -> Obj:
    wanted = {"namespaceSelector": {"matchLabels": {"sleeps": "yes"}}, "template": TEMPLATE, **spec}
    return obj("keda-py.dev/v1alpha1", "ClusterEnvironment", name, spec=wanted)


def written(folder: Path, *bodies: Obj) -> str:
    file = folder / "policy.yaml"
    file.write_text(yaml.safe_dump_all(bodies))
    return str(file)


def test_each_selected_namespace_is_previewed_with_its_members() -> None:
    shop = labelled(a_namespace("shop"), sleeps="yes")
    found = look(policy(), shop, a_namespace("blog"), deployment("web", 2, namespace="shop"))
    assert [(one.kind, one.namespace, one.name) for one in found.subjects] == [
        ("Environment", "shop", "office"),
        ("Deployment", "shop", "web"),
    ]
    assert moves(the("Deployment/web", found))[:2] == [("Mon 08:00:00", 0, 2), ("Mon 18:00:00", 2, 0)]
    assert "ClusterEnvironment office covers this namespace and writes it" in the("Environment/office", found).remarks
    assert found.problems == ()


def test_an_environment_of_a_namespaces_own_is_in_force() -> None:
    shop = labelled(a_namespace("shop"), sleeps="yes")
    found = look(policy(), shop, environment("mine", "shop"))
    assert [one.name for one in found.subjects] == ["mine"]
    (warning,) = found.warnings
    assert warning.endswith("selects also shop (its own Environment mine is in force)")


def test_a_policy_that_cannot_be_read_is_a_problem() -> None:
    (problem,) = look(policy(template={**TEMPLATE, "grace": "soon"})).problems
    assert problem.startswith("ClusterEnvironment office: spec.template.grace:")


def test_namespaces_that_are_named_are_taken_to_be_selected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, policy())
    assert main(["preview", "--from", "2026-11-23", "--namespaces", "shop, blog", file]) == 0
    page = capsys.readouterr().out
    assert "Environment blog/office, shop/office" in page
    assert "Mon 23 08:00:00" in page
    assert main(["preview", "--from", "2026-11-23", file]) == 0
    assert "covers no namespace that is known here" in capsys.readouterr().out


def test_validate_tells_its_hours_and_its_namespaces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, policy(), labelled(a_namespace("shop"), sleeps="yes"), a_namespace("blog"))
    assert main(["validate", "--notes", file]) == 0
    page = capsys.readouterr().out
    assert "spec.template: awake Mon-Fri 08:00-18:00, UTC" in page
    assert "spec.namespaceSelector: covers shop" in page


def test_validate_finds_a_job_that_a_policy_never_lets_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    night = cron_job("report", "0 3 * * *")
    night["metadata"]["namespace"] = "shop"
    assert main(["validate", "--strict", "--namespaces", "shop", written(tmp_path, policy(), night)]) == 1
    assert "[job-never-runs]" in capsys.readouterr().out


DELETING = {"calendar": TEMPLATE["calendar"], "idleAfter": "48h", "deleteAfter": "14d"}
EARLIEST = (
    "deleteAfter: its namespace could be deleted at 2026-12-07T00:00:00Z at the earliest, if nothing uses it from"
)


def end_of_life(*bodies: Obj, name: str = "office") -> str:
    remarks = the(f"Environment/{name}", look(*bodies)).remarks
    return "".join(one for one in remarks if one.startswith("deleteAfter"))


def test_a_policy_that_deletes_namespaces_says_when_at_the_earliest_and_what_each_needs() -> None:
    shop = labelled(a_namespace("shop"), sleeps="yes")
    assert end_of_life(policy(template=DELETING), shop) == (
        f"{EARLIEST} 2026-11-23T00:00:00Z on; that needs environments.deleteNamespaces: true of the chart, the label "
        'keda-py.dev/allow-deletion: "true" of the namespace (it has none) and no PersistentVolumeClaim that is bound'
    )
    allowed = labelled(a_namespace("shop"), sleeps="yes", **{"keda-py.dev/allow-deletion": "true"})
    wanted = end_of_life(policy(template={**DELETING, "deleteBoundVolumes": True}), allowed)
    assert wanted.endswith("; that needs environments.deleteNamespaces: true of the chart")
    assert end_of_life(policy(), shop) == ""


def test_an_environment_without_use_counts_from_its_last_use() -> None:
    idle = {"idle": {"inUse": False, "lastActivity": "2026-11-21T06:00:00Z"}}
    body = {**environment("dev", "shop", **DELETING), "status": idle}
    text = end_of_life(body, name="dev")
    assert "at 2026-12-05T06:00:00Z at the earliest, if nothing uses it from 2026-11-21T06:00:00Z on" in text
    assert 'the label keda-py.dev/allow-deletion: "true" of the namespace and no Persistent' in text
    used = {**body, "status": {"idle": {**idle["idle"], "inUse": True}}}
    assert end_of_life(used, name="dev").startswith(EARLIEST)


def test_a_namespace_that_is_never_deleted_says_so() -> None:
    assert end_of_life(environment("dev", "kube-public", **DELETING), name="dev") == (
        "deleteAfter: namespace kube-public is never deleted"
    )
