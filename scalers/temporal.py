"""Scale on the tasks that wait in a task queue of Temporal."""

from typing import Annotated, Any, Self

from pydantic import SecretStr, model_validator

from keda_py.sdk.advanced import META, ScalerContext, TlsSettings
from keda_py.sdk.messages import parse
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.concurrent_reads import each
from scalers.shared.grpc import temporal_api as api
from scalers.shared.grpc.connection import GrpcConnection, GrpcServer, connect, host_and_port

_NONE = SecretStr("")


class TemporalMetadata(TriggerMetadata):
    """Keys of `temporal`."""

    endpoint: Annotated[str, sources(META, ENV)]
    namespace: Annotated[str, sources(META, ENV)] = "default"
    task_queue: Annotated[str, sources(META, ENV)]
    target_queue_size: Annotated[int, Target()] = 5
    activation_target_queue_size: Annotated[int, Activation()] = 0
    queue_types: list[str] = []
    worker_deployment_name: Annotated[str, sources(META, ENV)] = ""
    worker_deployment_build_id: Annotated[str, sources(META, ENV)] = ""
    build_id: Annotated[str, sources(META, ENV)] = ""
    select_all_active: bool = False
    select_unversioned: bool = False
    api_key: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    min_connect_timeout: int = 5
    unsafe_ssl: bool = False
    cert: Annotated[SecretStr, sources(AUTH)] = _NONE
    key: Annotated[SecretStr, sources(AUTH)] = _NONE
    key_password: Annotated[SecretStr, sources(AUTH)] = _NONE
    ca: Annotated[str, sources(AUTH)] = ""
    tls_server_name: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.worker_deployment_name) != bool(self.worker_deployment_build_id):
            raise ValueError("workerDeploymentName and workerDeploymentBuildId must both be set")
        if self.worker_deployment_name and self.by_build_id:
            text = "cannot be combined with buildId, selectAllActive, or selectUnversioned: keep one"
            raise ValueError(f"workerDeploymentName/workerDeploymentBuildId {text}")
        if bool(self.cert.get_secret_value()) != bool(self.key.get_secret_value()):
            raise ValueError("both cert and key must be provided when using TLS")
        for key, value in (
            ("minConnectTimeout", self.min_connect_timeout),
            ("activationTargetQueueSize", self.activation_target_queue_size),
        ):
            if value < 0:
                raise ValueError(f"{key} must be a positive number")
        return self

    @property
    def by_build_id(self) -> bool:
        """Whether the trigger uses build ids, the older way of naming versions."""
        return bool(self.build_id or self.select_all_active or self.select_unversioned)

    def tls_settings(self) -> TlsSettings | None:
        """Return None for plain text."""
        if not (self.api_key.get_secret_value() or self.cert.get_secret_value() or self.ca):
            return None
        return TlsSettings(
            ca=self.ca,
            cert=self.cert.get_secret_value(),
            key=self.key.get_secret_value(),
            key_password=self.key_password.get_secret_value(),
            unsafe=self.unsafe_ssl,
        )


class TemporalScaler(Scaler[TemporalMetadata]):
    """Asks for the backlog of the queue, of some of its versions, or of one version of a worker deployment."""

    _connection: GrpcConnection

    def __init__(self, metadata: TemporalMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        address = host_and_port(metadata.endpoint, "endpoint")
        self._server = GrpcServer(address=address, tls=metadata.tls_settings(), server_name=metadata.tls_server_name)
        names = [name.lower() for name in metadata.queue_types if name]
        self._types = [api.QUEUE_TYPES[name] for name in names or api.QUEUE_TYPES if name in api.QUEUE_TYPES]

    @property
    def metric_name(self) -> str:
        """`temporal-<namespace>-<taskQueue>`, and the worker deployment's name and build id if given."""
        metadata = self.metadata
        parts = [metadata.namespace, metadata.task_queue]
        if metadata.worker_deployment_name:
            parts += [metadata.worker_deployment_name, metadata.worker_deployment_build_id]
        return f"temporal-{'-'.join(parts)}"

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, an unknown type of queue is passed over."""
        unknown = [name for name in self.metadata.queue_types if name and name.lower() not in api.QUEUE_TYPES]
        return (f"queueTypes: {', '.join(unknown)}: write workflow, activity or nexus",) if unknown else ()

    async def open(self) -> None:
        """Share the connection to this server. Raises ConfigError for certificates that cannot be used."""
        self._connection = await connect(self._server, self.context)

    async def read(self) -> Reading:
        """The approximate backlog now."""
        if not self._types:
            raise ScalerError("queueTypes names no type of queue: write workflow, activity or nexus")
        if self.metadata.worker_deployment_name:
            return Reading(value=float(await self._of_deployment()))
        if self.metadata.by_build_id:
            return Reading(value=float(await self._of_build_ids()))
        return Reading(value=float(sum(await each(self._types, self._of_type, at_once=len(self._types)))))

    async def _of_type(self, kind: int) -> int:
        answer = await self._describe(task_queue_type=kind)
        return int(answer.stats.approximate_backlog_count)

    async def _of_build_ids(self) -> int:
        metadata = self.metadata
        versions = api.messages()["TaskQueueVersionSelection"](
            # The empty build id is that of workers without a version. KEDA names it always: without it a queue whose
            # workers have none would count 0 under selectAllActive.
            build_ids=[metadata.build_id],
            unversioned=metadata.select_unversioned,
            all_active=metadata.select_all_active,
        )
        answer = await self._describe(api_mode=api.ENHANCED, versions=versions, task_queue_types=self._types)
        return api.of_versions(answer)

    async def _of_deployment(self) -> int:
        metadata = self.metadata
        version = {
            "build_id": metadata.worker_deployment_build_id,
            "deployment_name": metadata.worker_deployment_name,
        }
        answer = await self._ask(
            "DescribeWorkerDeploymentVersion", deployment_version=version, report_task_queue_stats=True
        )
        return api.of_deployment(answer, metadata.task_queue, self._types)

    async def _describe(self, **fields: object) -> Any:
        queue = {"name": self.metadata.task_queue}
        return await self._ask("DescribeTaskQueue", task_queue=queue, report_stats=True, **fields)

    async def _ask(self, method: str, **fields: object) -> Any:
        request = api.messages()[f"{method}Request"](namespace=self.metadata.namespace, **fields)
        headers = [("temporal-namespace", self.metadata.namespace)]
        if key := self.metadata.api_key.get_secret_value():
            headers.append(("authorization", f"Bearer {key}"))
        answer = await self._connection.ask(f"{api.SERVICE}/{method}", request.SerializeToString(), headers)
        return parse(api.messages()[f"{method}Response"], answer)
