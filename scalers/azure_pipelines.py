"""Scale on the jobs that wait for an agent of a pool in Azure Pipelines."""

from dataclasses import replace
from typing import Annotated, Final, Self
from urllib.parse import quote

from pydantic import SecretStr, field_validator, model_validator

from keda_py.cloud.azure_clouds import DEVOPS, scope_of
from keda_py.sdk.advanced import META, Destination, ExternalMetric, MetricSpec, ScalerContext, named
from keda_py.sdk.scaler import (
    AUTH,
    ENV,
    Activation,
    ConfigError,
    Reading,
    Scaler,
    ScalerError,
    Target,
    TriggerMetadata,
    sources,
)
from scalers.shared.azure.azure_workload import azure_token
from scalers.shared.azure.cloud_keys import PUBLIC, given
from scalers.shared.bearer_token import BearerToken, Signer
from scalers.shared.builds.job_lists import INLINE_BYTES, count_waiting, pools
from scalers.shared.credentials.basic import basic
from scalers.shared.http_answer import HttpQuestion, get

_USUAL_JOBS: Final = 250


class AzurePipelinesMetadata(TriggerMetadata):
    """Keys of `azure-pipelines`."""

    organization_url: Annotated[str, named("organizationURL"), sources(ENV, AUTH, META)]
    personal_access_token: Annotated[SecretStr, sources(AUTH, ENV)] = SecretStr("")
    parent: str = ""
    demands: list[str] = []
    pool_name: str = ""
    pool_id: Annotated[int, named("poolID")] = 0
    target_pipelines_queue_length: Annotated[int, Target()] = 1
    activation_target_pipelines_queue_length: Annotated[int, Activation()] = 0
    jobs_to_fetch: int | None = None
    fetch_unfinished_jobs_only: bool | None = None
    require_all_demands: bool = False
    require_all_demands_and_ignore_others: bool = False
    case_insensitive_demands_processing: bool = False

    @field_validator("organization_url")
    @classmethod
    def _check_organization(cls, text: str) -> str:
        if not text.rpartition("/")[2]:
            message = (
                "failed to extract organization name from organizationURL: write https://dev.azure.com/ORGANIZATION"
            )
            raise ValueError(message)
        return text

    @model_validator(mode="after")
    def _check_pool(self) -> Self:
        if not self.pool_name and not self.pool_id:
            raise ValueError("no poolName or poolID given: set one")
        if self.jobs_to_fetch is not None:
            other = "parent" if self.parent else "fetchUnfinishedJobsOnly"
            if self.parent or self.fetch_unfinished_jobs_only is not None:
                raise ValueError(f"cannot specify both jobsToFetch and {other} at the same time: remove one")
        return self


class AzurePipelinesScaler(Scaler[AzurePipelinesMetadata]):
    """The pool is looked up once; then one question each time."""

    _signer: Signer | None = None

    def __init__(self, metadata: AzurePipelinesMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        if context.pod_identity.provider != "azure-workload":
            message = "no personalAccessToken given or podIdentity azure-workload configured: set one"
            given(metadata.personal_access_token.get_secret_value(), "personalAccessToken", message)
        self._pool = metadata.pool_id if not metadata.pool_name else 0

    @property
    def metric_name(self) -> str:
        """`azure-pipelines-<id of the pool>`."""
        return f"azure-pipelines-{self._pool}"

    async def specs(self) -> tuple[MetricSpec, ...]:
        """Known once the pool has been looked up."""
        return (ExternalMetric(name=self.metric_name, target=self.target),)

    async def open(self) -> None:
        """Look up the pool. Raises ConfigError for a name that several pools have, or none."""
        if self.context.pod_identity.provider == "azure-workload":
            to = Destination(url=self.metadata.organization_url, field="organizationURL", service="azure devops")
            self._signer = BearerToken(await azure_token(self.context, scope_of(DEVOPS), to, PUBLIC.authority))
        metadata = self.metadata
        by_name = {"poolName": metadata.pool_name} if metadata.pool_name else {"poolID": str(metadata.pool_id)}
        found = await self.context.parse(pools, await self._ask("pools", by_name), inline_bytes=INLINE_BYTES)
        if not metadata.pool_name:
            return
        if len(found) != 1:
            what = "several agent pools have" if found else "no agent pool has"
            raise ConfigError(f'poolName: {what} the name "{metadata.pool_name}": write poolID', field="poolName")
        self._pool = found[0]

    async def read(self) -> Reading:
        """The requests that wait now, and that these agents could take."""
        metadata = self.metadata
        body = await self._ask(f"pools/{self._pool}/jobrequests", self._how_many())
        rule = "all" if metadata.require_all_demands else ""
        count = await self.context.parse(
            count_waiting,
            body,
            metadata.parent,
            metadata.demands,
            rule or ("ignore others" if metadata.require_all_demands_and_ignore_others else ""),
            metadata.case_insensitive_demands_processing,
            inline_bytes=INLINE_BYTES,
        )
        return Reading(value=float(count))

    def _how_many(self) -> dict[str, str]:
        if self.metadata.fetch_unfinished_jobs_only:
            return {"completedRequestCount": "0"}
        return {} if self.metadata.parent else {"$top": str(self.metadata.jobs_to_fetch or _USUAL_JOBS)}

    async def _ask(self, path: str, parameters: dict[str, str]) -> bytes:
        url = f"{self.metadata.organization_url}/_apis/distributedtask/{quote(path)}"
        question = HttpQuestion(url=url, parameters=parameters)
        if self._signer is None:
            question = replace(question, headers=basic(SecretStr(""), self.metadata.personal_access_token))
        else:
            question = await self._signer.sign(question)
        answer = await get(self.context, question)
        if not answer.is_success:
            raise ScalerError(f"the Azure DevOps REST API returned an error: {path}: status {answer.status_code}")
        return answer.content
