"""Scale on the messages that a subscription of Pulsar has not acknowledged."""

from http import HTTPStatus
from typing import Annotated

from pydantic import SecretStr

from keda_py.core.values.urls import path_segments
from keda_py.sdk.advanced import META, ExternalMetric, ScalerContext, named
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Scaler, ScalerError, Target, sources
from scalers.shared.answers.json_fields import INLINE_BYTES
from scalers.shared.auth_modes import AuthMode, AuthModesMetadata, auth_headers, auth_tls
from scalers.shared.bearer_token import BearerToken, Signer
from scalers.shared.brokers.pulsar_stats import backlog_of
from scalers.shared.http_answer import HttpQuestion, get
from scalers.shared.oauth2 import ClientGrant, client_token

_HONOURED: frozenset[AuthMode] = frozenset({"bearer", "basic"})
_METHODS = {"bearer": "token", "basic": "basic", "tls": "tls"}
_PERSISTENT, _NON_PERSISTENT = "persistent://", "non-persistent://"


class PulsarMetadata(AuthModesMetadata):
    """Keys of `pulsar`; those of OAuth may also stand in the trigger."""

    admin_url: Annotated[str, named("adminURL"), sources(META, ENV)]
    topic: Annotated[str, sources(META, ENV)]
    subscription: Annotated[str, sources(META, ENV)]
    msg_backlog_threshold: Annotated[int, Target()] = 10
    activation_msg_backlog_threshold: Annotated[int, Activation()] = 0
    is_partitioned_topic: bool = False
    tls: str = ""
    oauth_token_uri: Annotated[str, named("oauthTokenURI"), sources(AUTH, META)] = ""
    scopes: Annotated[list[str], named("scopes", "scope"), sources(AUTH, META)] = []
    client_id: Annotated[str, named("clientID"), sources(AUTH, META)] = ""
    endpoint_params: Annotated[
        dict[str, list[str]], named("endpointParams", "EndpointParams"), sources(AUTH, META)
    ] = {}

    @property
    def modes(self) -> list[str]:
        """`authModes`; the older key `tls` is one of them where there is a certificate."""
        by_key = self.tls == "enable" and bool(self.cert.get_secret_value()) and "tls" not in self.auth_modes
        return [*self.auth_modes, "tls"] if by_key else self.auth_modes


class PulsarScaler(Scaler[PulsarMetadata]):
    """One GET for each reading."""

    metric_name = "pulsar-{topic}-{subscription}"

    def __init__(self, metadata: PulsarMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        modes = metadata.modes
        method = next((name for mode, name in _METHODS.items() if mode in modes), "")
        headers = {"X-Pulsar-Auth-Method-Name": method} if method else {}
        headers |= auth_headers(metadata, _HONOURED)
        tls = auth_tls(metadata.model_copy(update={"auth_modes": modes}), context, unsafe=False)
        self._question = HttpQuestion(url=_url(metadata), headers=headers, tls=tls)
        self._signer: Signer | None = None

    async def specs(self) -> tuple[ExternalMetric, ...]:
        """Always of the type AverageValue, whatever the trigger's metricType, as in KEDA."""
        return (ExternalMetric(name=self.metric_name, target=self.target, metric_type="AverageValue"),)

    async def open(self) -> None:
        """Find where tokens come from, in the mode oauth."""
        if "oauth" not in self.metadata.auth_modes:
            return
        parameters = ((name, text) for name, texts in self.metadata.endpoint_params.items() for text in texts[:1])
        grant = ClientGrant(
            url=self.metadata.oauth_token_uri,
            client_id=self.metadata.client_id,
            client_secret=self.metadata.client_secret if self.metadata.client_secret else SecretStr("unused"),
            scopes=tuple(self.metadata.scopes),
            parameters=tuple(parameters),
        )
        self._signer = BearerToken(await client_token(self.context, grant))

    async def read(self) -> Reading:
        """The backlog now; a topic or a subscription that is not there is an error."""
        question = await self._signer.sign(self._question) if self._signer else self._question
        answer = await get(self.context, question)
        if answer.status_code != HTTPStatus.OK:
            raise ScalerError(f"pulsar topic {self.metadata.topic}: response status is {answer.status_code}")
        backlog = await self.context.parse(
            backlog_of, answer.content, self.metadata.subscription, inline_bytes=INLINE_BYTES, timeout=self.timeout
        )
        if backlog is None:
            return Reading(value=0.0, note="a subscription without msgBacklog counts as 0")
        return Reading(value=float(max(backlog, 0)))


def _url(metadata: PulsarMetadata) -> str:
    domain = "non-persistent" if metadata.topic.startswith(_NON_PERSISTENT) else "persistent"
    topic = metadata.topic.removeprefix(_NON_PERSISTENT).removeprefix(_PERSISTENT)
    stats = "partitioned-stats" if metadata.is_partitioned_topic else "stats"
    return f"{metadata.admin_url.rstrip('/')}/admin/v2/{domain}/{path_segments('topic', topic, safe='%')}/{stats}"
