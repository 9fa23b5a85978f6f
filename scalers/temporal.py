"""Scale on the tasks that wait in a task queue of Temporal."""

import logging
from typing import Annotated, Any, Self

import re2
from pydantic import SecretStr, model_validator

from keda_py.sdk.advanced import META, ScalerContext, TlsSettings, deprecated, named
from keda_py.sdk.messages import parse
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.concurrent_reads import each
from scalers.shared.grpc import temporal_api as api
from scalers.shared.grpc.connection import GrpcConnection, GrpcServer, connect, host_and_port

_NONE = SecretStr("")
_QUERYABLE = re2.compile(r"[a-zA-Z0-9_./:-]+")
"""Names that can stand in a visibility query, which knows no parameters: none of them ends its quotes."""
_BUILD_IDS = "Temporal takes versions by rules away, and KEDA this key"
_DEPLOYMENT = "use workerDeploymentName and workerDeploymentBuildId"
_BY_DEPLOYMENT = f"{_BUILD_IDS}: {_DEPLOYMENT}"
_WITHOUT = f"{_BUILD_IDS}: remove it where workers have no version, or {_DEPLOYMENT}"

log = logging.getLogger(__name__)


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
    build_id: Annotated[str, sources(META, ENV), deprecated(_BY_DEPLOYMENT)] = ""
    select_all_active: Annotated[bool, deprecated(_BY_DEPLOYMENT)] = False
    select_unversioned: Annotated[bool, deprecated(_WITHOUT)] = False
    include_running_workflow_count: bool = False
    """Whether the trigger stays active without a backlog, while workflows of the queue run."""
    workflow_task_queue_for_count: Annotated[str, sources(META, ENV)] = ""
    """The queue whose running workflows count, where it is not `taskQueue`."""
    api_key: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    min_connect_timeout: int = 5
    enable_tls: Annotated[bool, named("enableTLS")] = True
    """`false` sends an apiKey in plain text; with cert and key it has no effect."""
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

    @model_validator(mode="after")
    def _check_count(self) -> Self:
        if self.workflow_task_queue_for_count and not self.include_running_workflow_count:
            text = "has no effect unless includeRunningWorkflowCount is true: set it"
            raise ValueError(f"workflowTaskQueueForCount: {text}")
        names = {
            "taskQueue": self.task_queue,
            "workflowTaskQueueForCount": self.workflow_task_queue_for_count,
            "workerDeploymentName": self.worker_deployment_name,
            "workerDeploymentBuildId": self.worker_deployment_build_id,
        }
        for key, name in names.items() if self.include_running_workflow_count else ():
            if name and not _QUERYABLE.fullmatch(name):
                text = "has characters that a visibility query cannot hold: remove includeRunningWorkflowCount"
                raise ValueError(f"{key}: {text}, or use letters, digits and - _ . / :")
        return self

    @property
    def by_build_id(self) -> bool:
        """Whether the trigger uses build ids, the older way of naming versions."""
        return bool(self.build_id or self.select_all_active or self.select_unversioned)

    def tls_settings(self) -> TlsSettings | None:
        """Return None for plain text."""
        by_key = self.api_key.get_secret_value() or self.ca
        if not self.cert.get_secret_value() and not (by_key and self.enable_tls):
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
        if self._server.tls is None and self.metadata.api_key.get_secret_value():
            names = {"namespace": self.context.namespace, "scaledobject": self.context.scaled_object}
            log.warning("api key of temporal is sent in plain text, since enableTLS is false", extra=names)
        self._connection = await connect(self._server, self.context)

    async def read(self) -> Reading:
        """The approximate backlog now; running workflows make the trigger active, and leave the value as it is."""
        if not self._types:
            raise ScalerError("queueTypes names no type of queue: write workflow, activity or nexus")
        if self.metadata.worker_deployment_name:
            version = await self._version()
            backlog = api.of_deployment(version, self.metadata.task_queue, self._types)
            return await self._reading(backlog, version.worker_deployment_version_info.status)
        if self.metadata.by_build_id:
            return await self._reading(await self._of_build_ids())
        return await self._reading(sum(await each(self._types, self._of_type, at_once=len(self._types))))

    async def _reading(self, backlog: int, status: int = 0) -> Reading:
        """Make the reading; `status` is that of a version of a deployment, 0 where it is not known."""
        # A failure is not taken as "no workflow runs", as KEDA takes it: that would stop workers at their work.
        is_counted = self.metadata.include_running_workflow_count and backlog <= self.activation
        if not is_counted or status in api.IDLE:
            return Reading(value=float(backlog))
        is_active = status == api.DRAINING or await self._count_running() > 0
        return Reading(value=float(backlog), active=is_active)

    async def _count_running(self) -> int:
        metadata = self.metadata
        queue = metadata.workflow_task_queue_for_count or metadata.task_queue
        query = f"ExecutionStatus = 'Running' AND TaskQueue = '{queue}'"
        if metadata.worker_deployment_name:
            version = f"{metadata.worker_deployment_name}:{metadata.worker_deployment_build_id}"
            query += f" AND TemporalWorkerDeploymentVersion = '{version}'"
        elif not metadata.by_build_id:
            query += " AND TemporalWorkerDeploymentVersion is null"
        return int((await self._ask("CountWorkflowExecutions", query=query)).count)

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

    async def _version(self) -> Any:
        metadata = self.metadata
        version = {
            "build_id": metadata.worker_deployment_build_id,
            "deployment_name": metadata.worker_deployment_name,
        }
        return await self._ask(
            "DescribeWorkerDeploymentVersion", deployment_version=version, report_task_queue_stats=True
        )

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
