"""Answers, refusals and silence of an API server, as a caller of the client sees them."""

import asyncio
from pathlib import Path

import pytest
from tests.kube.faulty_server import FaultyServer, hangs, listing, refuses, says, thing, write_kubeconfig

from keda_py.clock import FakeClock, SystemClock
from keda_py.errors import (
    AlreadyExists,
    ConfigError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    TooManyRequests,
    Unavailable,
)
from keda_py.kube.client import Exchange, KubeClient
from keda_py.kube.resources import DEPLOYMENTS, PODS
from keda_py.kube.transport import Request

WEB = DEPLOYMENTS.named("ns", "web")
GET = f"GET {WEB.path}"


async def test_an_object_comes_as_a_plain_dict(server: FaultyServer, client: KubeClient) -> None:
    server.answer(GET, says(thing("web", 7, spec={"replicas": 2})))
    assert (await client.get(WEB))["spec"] == {"replicas": 2}
