"""Scale on the depth of one or several queues of IBM MQ, asked through its REST interface for administrators."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

import orjson
import re2
from pydantic import SecretStr, model_validator

from keda_py.sdk.advanced import META, ScalerContext, named
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Scaler, ScalerError, Target, sources
from scalers.shared.answers.json_fields import INLINE_BYTES
from scalers.shared.brokers.mq_depth import read_depth, read_refusal
from scalers.shared.credentials.basic import basic
from scalers.shared.credentials.client_tls import ClientTlsMetadata, client_tls
from scalers.shared.http_answer import HttpQuestion, ask

Operation = Literal["max", "avg", "sum"]
_SCHEME = re2.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.+|/.*")
_OPERATIONS: Mapping[Operation, Callable[[Sequence[int]], float]] = {
    "max": lambda depths: float(max(depths)),
    "sum": lambda depths: float(sum(depths)),
    "avg": lambda depths: float(sum(depths) // len(depths)),
}


class IbmmqMetadata(ClientTlsMetadata):
    """Keys of `ibmmq`; `host` is the address of a queue manager's `mqsc` action."""

    host: str
    queue_names: Annotated[list[str], named("queueName", "queueNames")]
    queue_depth: Annotated[int, Target()] = 20
    activation_queue_depth: Annotated[int, Activation()] = 0
    operation: Operation = "max"
    username: Annotated[SecretStr, sources(AUTH, ENV, META)]
    password: Annotated[SecretStr, sources(AUTH, ENV, META)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not _is_address(self.host):
            raise ValueError("host: is not an address: write https://HOST:PORT/ibmmq/rest/v2/admin/action/qmgr/QM/mqsc")
        return self


class IbmmqScaler(Scaler[IbmmqMetadata]):
    """One POST for each queue."""

    def __init__(self, metadata: IbmmqMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._tls = client_tls(metadata, context)
        self._headers = {
            "Content-Type": "application/json",
            "ibm-mq-rest-csrf-token": "value",
            **basic(metadata.username, metadata.password),
        }

    @property
    def metric_name(self) -> str:
        """`ibmmq-<the first queue>`."""
        return f"ibmmq-{self.metadata.queue_names[0]}"

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, an address of another kind fails each poll, not the ScaledObject."""
        is_http = self.metadata.host.startswith(("http://", "https://"))
        return () if is_http else ("host does not begin with http:// or https://: each poll will fail",)

    async def read(self) -> Reading:
        """The depths now, combined; one that is not known is an error."""
        depths = [await self._depth(queue) for queue in self.metadata.queue_names]
        note = "a queue without a depth in the answer counts as 0" if None in depths else ""
        known = [max(depth or 0, 0) for depth in depths]
        return Reading(value=_OPERATIONS[self.metadata.operation](known), note=note)

    async def _depth(self, queue: str) -> int | None:
        answer = await ask(self.context, self._question(queue))
        try:
            match answer.status_code:
                case HTTPStatus.OK:
                    return await self.context.parse(read_depth, answer.content, inline_bytes=INLINE_BYTES)
                case HTTPStatus.UNAUTHORIZED:
                    raise ScalerError("authentication failed: incorrect username or password")
                case HTTPStatus.NOT_FOUND:
                    refusal = await self.context.parse(read_refusal, answer.content, inline_bytes=INLINE_BYTES)
                    raise ScalerError(refusal or "not found")
                case status:
                    raise ScalerError(f"unexpected status code {status}")
        except ScalerError as error:
            raise ScalerError(f"ibmmq queue {queue}: {error}") from None

    def _question(self, queue: str) -> HttpQuestion:
        command = {
            "type": "runCommandJSON",
            "command": "display",
            "qualifier": "qlocal",
            "name": queue,
            "responseParameters": ["CURDEPTH"],
        }
        content = orjson.dumps(command)
        return HttpQuestion(
            url=self.metadata.host, method="POST", content=content, headers=self._headers, tls=self._tls
        )


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port if parts.netloc else None
    except ValueError:
        return False
    return _SCHEME.fullmatch(text) is not None
