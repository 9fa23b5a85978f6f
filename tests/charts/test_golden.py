"""charts/keda-py as it was reviewed: a change of what is installed shows in a diff of tests/charts/golden.

UPDATE_GOLDEN=1 writes the renders anew. The definitions are left out: `keda-py crds` prints them, and a test of its own
compares them.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.charts.rendering import KEDA_PY, helm, render, text
from tests.documents import read_file

GOLDEN = Path(__file__).with_name("golden")
WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "ha": read_file(KEDA_PY / "values-ha.yaml"),
    "restricted": read_file(KEDA_PY / "values-restricted.yaml"),
    "namespaced": {"watchNamespace": "shop,bank", "clusterScoped": {"create": False}},
    "cert-manager": {"certificates": {"certManager": {"enabled": True}}},
    "shards": {"operator": {"replicaCount": 3, "shards": 3}},
    "waker": {
        "waker": {"enabled": True, "patchSlices": True},
        "networkPolicy": {"enabled": True},
        "prometheus": {
            "operator": {
                "serviceMonitor": {"enabled": True, "interval": "30s"},
                "podMonitor": {"enabled": True, "interval": "30s"},
            }
        },
    },
    "shadow": {"shadow": {"enabled": True}},
    "minimal": {
        "webhooks": {"enabled": False},
        "prometheus": {"operator": {"enabled": False}},
        "rbac": {"enabledCustomScaledRefKinds": False},
        "permissions": {"operator": {"restrict": {"secret": True}}},
    },
    "everything": {
        "clusterEnvironments": {"enabled": True},
        "kedaDefaults": {
            "enabled": True,
            "values": {"pollingInterval": 60, "bounds": {"maxReplicaCount": {"atMost": 50}}},
        },
        "environments": {
            "downscalerAnnotations": True,
            "argocdApplications": True,
            "advice": {"prometheus": "http://prometheus.monitoring.svc:9090", "tokenFile": "/tokens/prometheus"},
            "idleness": {
                "prometheus": "http://prometheus.monitoring.svc:9090",
                "query": "sum by (namespace) (increase(audit_sessions_total[10m]))",
                "tokenFile": "/tokens/prometheus",
            },
            "deleteNamespaces": True,
            "fluxAnnotations": True,
            "downscalerIncludeResources": ["deployments", "statefulsets", "cronjobs", "daemonsets", "scaledobjects"],
            "kinds": [{"apiGroup": "argoproj.io", "kind": "rollouts"}],
        },
        "networkPolicy": {"enabled": True},
        "permissions": {"operator": {"crossNamespaceEndpoints": ["monitoring"], "cloudEventSourceAllNamespaces": True}},
        "webhooks": {"clients": {"caFile": "/callers/ca.crt", "names": ["kube-apiserver", "other"]}},
        "rbac": {"aggregateToDefaultRoles": True},
        "podDisruptionBudget": {"operator": {"minAvailable": 1}},
        "operatorIdentity": {"hosts": ["vault.example.org", "*.vault.svc"]},
        "podIdentity": {"aws": {"irsa": {"enabled": True, "roleArn": "arn:aws:iam::1:role/keda"}}},
        "prometheus": {
            "operator": {
                "serviceMonitor": {"enabled": True, "interval": "30s"},
                "podMonitor": {"enabled": True},
                "prometheusRules": {"enabled": True, "alerts": [{"alert": "Ours", "expr": "vector(1)"}]},
            }
        },
        "extraObjects": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-more"}, "data": {}}
        ],
        "additionalLabels": {"team": "platform"},
        "additionalAnnotations": {"contact": "platform@example.org"},
    },
}

WITH_DEFINITIONS = {"default", "everything"}
"""The ways whose lint reads the definitions, too: those of every install, and of all kinds. It takes twice as long."""


@pytest.mark.parametrize("way", WAYS)
def test_what_is_installed_is_what_was_reviewed(way: str) -> None:
    rendered = text(KEDA_PY, {**WAYS[way], "crds": {"install": False}}) + "\n"
    file = GOLDEN / f"{way}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(rendered)
    assert rendered == file.read_text(), "UPDATE_GOLDEN=1 writes it anew"


@pytest.mark.parametrize("way", WAYS)
def test_the_strict_lint_is_clean(way: str) -> None:
    values = WAYS[way] if way in WITH_DEFINITIONS else {**WAYS[way], "crds": {"install": False}}
    for version in ("v1.26.0", "v1.36.0"):
        report = helm().lint(str(KEDA_PY), values, strict=True, kube_version=version)
        assert report["errors"] == []
        assert [one["error"] for one in report["messages"]] == ["icon is recommended"]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_said_twice(way: str) -> None:
    names = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in render(**WAYS[way])]
    assert len(names) == len(set(names))
