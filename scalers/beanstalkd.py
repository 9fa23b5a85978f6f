"""Scale on the jobs in a beanstalkd tube: ready and reserved, and delayed ones where asked for."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated
from urllib.parse import quote_plus

from keda_py.sdk.advanced import ScalerContext, SharingKey
from keda_py.sdk.scaler import Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata
from scalers.shared.protocols.beanstalk import Beanstalk, BeanstalkServer, beanstalk, is_tube

_ALWAYS = ("current-jobs-ready", "current-jobs-reserved")
_DELAYED = "current-jobs-delayed"


class BeanstalkdMetadata(TriggerMetadata):
    """Keys of `beanstalkd`; without `timeout` the one of HTTP counts, where KEDA has 30 ms."""

    server: str
    tube: str
    value: Annotated[float, Target()]
    activation_value: Annotated[float, Activation()] = 0.0
    include_delayed: bool = False
    timeout: timedelta | None = None


class BeanstalkdScaler(Scaler[BeanstalkdMetadata]):
    """All triggers on one server share a connection, and one round trip per poll."""

    _beanstalk: Beanstalk

    def __init__(self, metadata: BeanstalkdMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._server = BeanstalkServer(address=metadata.server, timeout=self.timeout)

    @property
    def metric_name(self) -> str:
        """`beanstalkd-<tube>`, escaped as in a URL."""
        return f"beanstalkd-{quote_plus(self.metadata.tube)}"

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, a name that no tube can have fails each poll."""
        return () if is_tube(self.metadata.tube) else (f'tube: no tube can be called "{self.metadata.tube}"',)

    async def open(self) -> None:
        """Join the connection, which is made by the first question."""
        self._beanstalk = await beanstalk(self._server, self.context)

    @property
    def batch_key(self) -> SharingKey:
        """Server and time-out."""
        return self._server.key("tubes")

    async def read_batch(self, scalers: "Sequence[Scaler[BeanstalkdMetadata]]") -> "Sequence[Reading | ScalerError]":
        """All tubes in one round trip."""
        ours = [scaler for scaler in scalers if isinstance(scaler, BeanstalkdScaler)]
        with self.context.clock.busy():
            answers = await self._beanstalk.tubes([scaler.metadata.tube for scaler in ours])
        return [scaler._reading(answer) for scaler, answer in zip(ours, answers, strict=True)]

    def _reading(self, answer: Mapping[str, int] | ScalerError | None) -> Reading | ScalerError:
        if answer is None:
            return Reading(value=0.0, note=f"tube {self.metadata.tube} is missing and counts as 0")
        if isinstance(answer, ScalerError):
            return answer
        wanted = (*_ALWAYS, _DELAYED) if self.metadata.include_delayed else _ALWAYS
        if missing := [name for name in wanted if name not in answer]:
            return ScalerError(f"beanstalkd {self.metadata.server}: the statistics have no {missing[0]}")
        return Reading(value=float(sum(answer[name] for name in wanted)))
