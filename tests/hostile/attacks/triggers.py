"""Triggers as the hostile tenant writes them."""

from typing import Any

Trigger = dict[str, Any]


def metrics_api(url: str, location: str = "value", format: str = "json", **metadata: str) -> Trigger:
    known = {"url": url, "valueLocation": location, "format": format, "targetValue": "5"}
    return {"type": "metrics-api", "metadata": known | metadata}


def prometheus(url: str, query: str = "q", **metadata: str) -> Trigger:
    return {"type": "prometheus", "metadata": {"serverAddress": url, "query": query, "threshold": "5"} | metadata}


def redis(address: str, name: str = "jobs", **metadata: str) -> Trigger:
    return {"type": "redis", "metadata": {"address": address, "listName": name} | metadata}


def config(name: str, key: str = "key", **metadata: str) -> Trigger:
    known = {"resourceKind": "ConfigMap", "resourceName": name, "key": key, "targetValue": "5"}
    return {"type": "kubernetes-resource", "metadata": known | metadata}


def pods(selector: str) -> Trigger:
    return {"type": "kubernetes-workload", "metadata": {"podSelector": selector, "value": "1"}}


def cron(start: str = "0 8 * * *", end: str = "0 18 * * *", timezone: str = "Etc/UTC") -> Trigger:
    metadata = {"timezone": timezone, "start": start, "end": end, "desiredReplicas": "1"}
    return {"type": "cron", "metadata": metadata}


def cpu(name: str = "") -> Trigger:
    return {"type": "cpu", "metricType": "Utilization", "name": name, "metadata": {"value": "50"}}


def using(trigger: Trigger, authentication: str, kind: str = "") -> Trigger:
    """With the parameters of a TriggerAuthentication."""
    reference = {"name": authentication} | ({"kind": kind} if kind else {})
    return {**trigger, "authenticationRef": reference}
