"""Truces as values: what is added to an Application is taken back exactly, whatever it said before."""

import copy
from typing import Any

import pytest

from keda_py.core.gitops.argocd import CountField
from keda_py.core.gitops.truce import HOLDERS, Truce, plan_truces, read_truces, with_truce, without_truce, write_truces

WEB = CountField(group="apps", kind="Deployment", namespace="shop", name="web")
RESPECT = "RespectIgnoreDifferences=true"
KEY = ("argocd", "shop")


def application(**spec: Any) -> dict[str, Any]:
    resource = {"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"}
    body = {"destination": {}, "syncPolicy": {"automated": {}}, **spec}
    meta = {"namespace": "argocd", "name": "shop", "annotations": {"of": "a user"}}
    return {"metadata": meta, "spec": body, "status": {"resources": [resource]}}


def merged(body: Any, change: Any) -> Any:
    """Apply a merge patch (RFC 7386)."""
    if not isinstance(change, dict):
        return change
    found = dict(body) if isinstance(body, dict) else {}
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"ignoreDifferences": [{"kind": "Secret", "jsonPointers": ["/data"]}]},
        {"syncPolicy": {"automated": {}, "syncOptions": [RESPECT]}},
        {"syncPolicy": {"automated": {}, "syncOptions": ["Prune=false"]}},
        {"ignoreDifferences": [{"group": "*", "kind": "*", "jsonPointers": ["/spec/replicas"]}]},
    ],
)
def test_two_environments_take_back_exactly_what_they_added_in_any_order(spec: dict[str, Any]) -> None:
    before = application(**spec)
    api = CountField(group="apps", kind="Deployment", namespace="bank", name="api")
    before["status"]["resources"].append({"group": "apps", "kind": "Deployment", "namespace": "bank", "name": "api"})
    body, truces = copy.deepcopy(before), []
    for holder, count in (("shop/dev", WEB), ("bank/dev", api)):
        truce = plan_truces([body], [count], {}).get(KEY)
        if truce is not None:
            truces.append((holder, truce))
            body = merged(body, with_truce(body, truce, holder))
            assert with_truce(body, truce, holder) is None
    assert not truces or RESPECT in body["spec"]["syncPolicy"]["syncOptions"]
    for holder, truce in truces:
        body = merged(body, without_truce(body, truce, holder))
        assert without_truce(body, truce, holder) is None
    assert body == before


def test_the_sync_option_stays_until_the_last_environment_is_awake() -> None:
    truce = Truce(application=KEY, counts=frozenset({WEB}))
    body = merged(application(), with_truce(application(), truce, "shop/dev"))
    body = merged(body, with_truce(body, truce, "bank/dev"))
    body = merged(body, without_truce(body, truce, "shop/dev"))
    assert body["spec"]["syncPolicy"]["syncOptions"] == [RESPECT]
    assert body["metadata"]["annotations"][HOLDERS] == "bank/dev"


@pytest.mark.parametrize("spec", [{"syncPolicy": {}}, {"destination": {"server": "https://10.0.0.1"}}])
def test_an_application_that_does_not_sync_here_gets_no_truce(spec: dict[str, Any]) -> None:
    assert plan_truces([application(**spec)], [WEB], {}) == {}


def test_truces_are_stored_and_read_back() -> None:
    truces = {KEY: Truce(application=KEY, counts=frozenset({WEB}))}
    assert read_truces(write_truces(truces), "shop") == truces
