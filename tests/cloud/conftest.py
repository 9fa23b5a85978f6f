"""Token endpoint on loopback, and the context of one tenant."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.testing import IdentityRule, shared_context
from tests.http_server import HttpServer, http_server

CLOUD_VARIABLES = (
    *(f"AZURE_{name}" for name in ("CLIENT_ID", "TENANT_ID", "AUTHORITY_HOST", "FEDERATED_TOKEN_FILE")),
    *("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GCE_METADATA_HOST"),
    *(f"AWS_{name}" for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE", "ROLE_ARN")),
    *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL", "AWS_REGION"),
)


@pytest.fixture(autouse=True)
def _no_identity_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CLOUD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/missing")


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


@pytest.fixture
async def anywhere() -> AsyncIterator[EngineContext]:
    """Make the context of an installation that allows its identity everywhere."""
    async with shared_context(identities=IdentityRule(anywhere=True)) as lent:
        yield context_of(lent)


@pytest.fixture
async def nowhere() -> AsyncIterator[EngineContext]:
    """Make the context of an installation that allows no host."""
    async with shared_context() as lent:
        yield context_of(lent)


def context_of(lent: SharedContext, namespace: str = "shop") -> EngineContext:
    return EngineContext(shared_context=lent, namespace=namespace, scaled_object="app", trigger_index=0)


def recording(sent: list[dict[str, Any]], answer: Any) -> Callable[[web.Request], Any]:
    """Answer all requests alike, and record their forms or JSON."""

    async def handle(request: web.Request) -> web.Response:
        is_json = request.content_type.endswith("json")
        sent.append(await request.json() if is_json else dict(await request.post()))
        return web.json_response(answer)

    return handle
