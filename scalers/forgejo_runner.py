"""Scale on the jobs that wait for a runner in Forgejo Actions."""

from typing import Annotated

import httpx
from pydantic import SecretStr

from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import named
from keda_py.sdk.scaler import AUTH, ENV, Reading, Scaler, ScalerError, TriggerMetadata, sources
from scalers.shared.builds.job_lists import INLINE_BYTES, count_jobs
from scalers.shared.http_answer import HttpQuestion, get


class ForgejoRunnerMetadata(TriggerMetadata):
    """Keys of `forgejo-runner`."""

    token: Annotated[SecretStr, sources(AUTH, ENV)]
    address: str
    labels: str
    is_global: Annotated[bool, named("global")] = False
    owner: str = ""
    org: str = ""
    repo: str = ""


class ForgejoRunnerScaler(Scaler[ForgejoRunnerMetadata]):
    """Forgejo itself chooses the jobs by labels."""

    metric_name = "forgejo"
    target = 1

    async def read(self) -> Reading:
        """The number of jobs now."""
        token = self.metadata.token.get_secret_value()
        question = HttpQuestion(
            url=f"{self.metadata.address.removesuffix('/')}/api/v1/{self._scope}/runners/jobs",
            parameters={"labels": self.metadata.labels},
            headers={"Authorization": f"token {token}"},
        )
        answer = await get(self.context, question)
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(f"the Forgejo REST API returned an error: status {answer.status_code}")
        count = await self.context.parse(count_jobs, answer.content, inline_bytes=INLINE_BYTES)
        return Reading(value=float(count))

    @property
    def _scope(self) -> str:
        """Return the narrowest scope that is given; without any, the user of the token."""
        metadata = self.metadata
        if metadata.owner and metadata.repo:
            return f"repos/{path_segment('owner', metadata.owner)}/{path_segment('repo', metadata.repo)}/actions"
        if metadata.org:
            return f"orgs/{path_segment('org', metadata.org)}/actions"
        return "admin" if metadata.is_global else "user/actions"
