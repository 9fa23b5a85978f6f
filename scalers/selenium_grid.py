"""Scale on the sessions that wait for, or run on, one kind of node in a Selenium Grid."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Final

import httpx
import orjson
from pydantic import SecretStr

from keda_py.core.documents.json_guard import check_json
from keda_py.sdk.advanced import META, RedirectRule, ScalerContext, TlsSettings
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Scaler, ScalerError, TriggerMetadata, sources
from scalers.shared.credentials.basic import basic
from scalers.shared.http_answer import HttpQuestion, post
from scalers.shared.selenium.grid import INLINE_BYTES, count_nodes

_SECRET = sources(AUTH, ENV)
_NONE = SecretStr("")
_DOWNLOADS: Final = "se:downloadsEnabled"
_QUERY: Final = (
    "{ grid { sessionCount, maxSession, totalSlots }, nodesInfo { nodes { id, status, sessionCount, maxSession, "
    "slotCount, stereotypes, sessions { id, capabilities, slot { id, stereotype } } } }, "
    "sessionsInfo { sessionQueueRequests } }"
)
_PUBLIC_QUESTION: Final = RedirectRule(public=frozenset({"body"}))


class SeleniumGridMetadata(TriggerMetadata):
    """Keys of `selenium-grid`."""

    url: Annotated[SecretStr, sources(AUTH, META)]
    auth_type: Annotated[str, _SECRET] = ""
    username: Annotated[SecretStr, _SECRET] = _NONE
    password: Annotated[SecretStr, _SECRET] = _NONE
    access_token: Annotated[SecretStr, _SECRET] = _NONE
    browser_name: str = ""
    session_browser_name: str = ""
    browser_version: str = ""
    platform_name: str = ""
    activation_threshold: Annotated[int, Activation()] = 0
    unsafe_ssl: bool = False
    node_max_sessions: int = 1
    enable_managed_downloads: bool = True
    capabilities: str = ""


class SeleniumGridScaler(Scaler[SeleniumGridMetadata]):
    """One GraphQL question; which sessions are of this kind is found as the Grid's own slot matcher does."""

    target = 1

    def __init__(self, metadata: SeleniumGridMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._tls = context.tls_context(TlsSettings(unsafe=True)) if metadata.unsafe_ssl else None

    @property
    def metric_name(self) -> str:
        """`selenium-grid`, and what is given of browser, version and platform."""
        metadata = self.metadata
        parts = ("selenium-grid", metadata.browser_name, metadata.browser_version, metadata.platform_name)
        return "-".join(part for part in parts if part)

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, capabilities that are no JSON fail each poll, not the ScaledObject."""
        try:
            self._capabilities()
        except ScalerError as error:
            return (str(error),)
        return ()

    async def read(self) -> Reading:
        """The number of nodes now; a Grid that answers without data counts as empty, as in KEDA."""
        own = self._capabilities()
        question = HttpQuestion(
            url=self.metadata.url.get_secret_value(),
            headers=self._headers(),
            tls=self._tls,
            redirects=_PUBLIC_QUESTION,
        )
        answer = await post(self.context, question, {"query": _QUERY})
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(f"Selenium Grid returned response status code: {answer.status_code}")
        count = await self.context.parse(
            count_nodes, answer.content, self._kind, self.metadata.node_max_sessions, own, inline_bytes=INLINE_BYTES
        )
        return Reading(value=float(count))

    @cached_property
    def _kind(self) -> Mapping[str, str]:
        metadata = self.metadata
        return {
            "browser": metadata.browser_name,
            "session": metadata.session_browser_name or metadata.browser_name,
            "version": metadata.browser_version,
            "platform": metadata.platform_name,
        }

    def _capabilities(self) -> dict[str, object]:
        text = self.metadata.capabilities.encode()
        try:
            check_json(text)
            own = orjson.loads(text) if text else {}
        except ValueError:
            own = None
        if not isinstance(own, dict):
            raise ScalerError('capabilities: is no JSON object: write {"name": "value"}')
        return {**own, **({_DOWNLOADS: True} if self.metadata.enable_managed_downloads else {})}

    def _headers(self) -> Mapping[str, str]:
        metadata, kind = self.metadata, self.metadata.auth_type
        user, token = metadata.username.get_secret_value(), metadata.access_token.get_secret_value()
        if kind.lower() in ("", "basic") and user and metadata.password.get_secret_value():
            return basic(metadata.username, metadata.password)
        if kind.lower() != "basic" and token:
            return {"Authorization": f"{kind} {token}".strip()}
        return {}
