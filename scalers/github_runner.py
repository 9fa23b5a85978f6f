"""Scale on the jobs of GitHub Actions that a self-hosted runner with certain labels could take."""

from typing import Annotated, Final, Literal, Self

from pydantic import SecretStr, model_validator

from keda_py.cloud.tokens import TokenSource
from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import META, ScalerContext, named, rs256
from keda_py.sdk.scaler import AUTH, ENV, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.builds.github_api import GitHubApi, RateLimited
from scalers.shared.builds.github_app import installation_token
from scalers.shared.builds.job_lists import count_for_labels, repositories, unfinished_runs

_PLAIN = sources(META, ENV)
_PAGE: Final = 30
_DEFAULT_LABELS: Final = ("self-hosted", "linux", "x64")
# Seconds: as many questions as there are repositories and runs, each with a time of its own.
_LONGEST_READING: Final = 60.0


class GitHubRunnerMetadata(TriggerMetadata):
    """Keys of `github-runner`."""

    github_api_url: Annotated[str, named("githubApiURL"), _PLAIN] = "https://api.github.com"
    owner: Annotated[str, _PLAIN]
    runner_scope: Annotated[Literal["org", "ent", "repo"], _PLAIN]
    personal_access_token: Annotated[SecretStr, sources(AUTH)] = SecretStr("")
    repos: Annotated[list[str], _PLAIN] = []
    labels: Annotated[list[str], _PLAIN] = []
    no_default_labels: Annotated[bool, _PLAIN] = False
    enable_etags: Annotated[bool, _PLAIN] = False
    match_unlabeled_jobs_with_unlabeled_runners: Annotated[bool, _PLAIN] = False
    target_workflow_queue_length: Annotated[int, _PLAIN, Target()] = 1
    application_id: Annotated[int, named("applicationID"), _PLAIN] = 0
    installation_id: Annotated[int, named("installationID"), _PLAIN] = 0
    app_key: Annotated[SecretStr, sources(AUTH)] = SecretStr("")

    @model_validator(mode="after")
    def _check_identity(self) -> Self:
        key = self.app_key.get_secret_value()
        if not self.personal_access_token.get_secret_value() and not key:
            raise ValueError("no personalAccessToken or appKey given: set one in a TriggerAuthentication")
        app = {"applicationID": self.application_id, "installationID": self.installation_id, "appKey": key}
        if any(app.values()) and (missing := [name for name, value in app.items() if not value]):
            raise ValueError(f"no {missing[0]} given: a GitHub App needs {', '.join(app)}")
        return self


class GitHubRunnerScaler(Scaler[GitHubRunnerMetadata]):
    """Asks for the runs of each repository, then for the jobs of each run; GitHub limits how often."""

    metric_name = "github-runner-{owner}"

    def __init__(self, metadata: GitHubRunnerMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        if metadata.application_id:
            rs256(metadata.app_key.get_secret_value(), b"", "appKey")
        labels = [] if metadata.no_default_labels else list(_DEFAULT_LABELS)
        self._labels = [*labels, *(label.lower() for label in metadata.labels)]
        self._counts_unlabelled = not (metadata.match_unlabeled_jobs_with_unlabeled_runners and metadata.labels)
        self._app: TokenSource | None = None
        self._last: Reading | None = None
        self._api = GitHubApi(context, metadata.github_api_url, self._authorization, tags=metadata.enable_etags)

    @property
    def timeout(self) -> float:
        """A minute, or what the installation gives to one question."""
        return max(_LONGEST_READING, self.context.http_timeout)

    async def open(self) -> None:
        """Join the source of the app's tokens."""
        metadata = self.metadata
        if metadata.application_id:
            app = (metadata.application_id, metadata.installation_id)
            self._app = await installation_token(self.context, metadata.github_api_url, app, metadata.app_key)

    async def read(self) -> Reading:
        """Count the jobs, or return the last count while GitHub's rate limit holds, as in KEDA."""
        if self.context.clock.now() >= self._api.limited_until:
            try:
                count = await self._count()
            except RateLimited:
                pass
            else:
                self._last = Reading(value=float(count), active=count >= self.target)
                return self._last
        until = self._api.limited_until.isoformat()
        if self._last is None:
            raise ScalerError(f"GitHub API rate limit exceeded until {until}, and nothing is known from before")
        note = f"GitHub API rate limit exceeded until {until}: what was counted before"
        return Reading(value=self._last.value, active=self._last.active, note=note)

    async def _count(self) -> int:
        self._api.begin()
        repos = self.metadata.repos or await self._repositories()
        found = [(repo, run) for repo in repos for run in await self._runs(repo)]
        return sum([await self._jobs(repo, run) for repo, run in found])

    async def _repositories(self) -> list[str]:
        kind = "users" if self.metadata.runner_scope == "repo" else "orgs"
        found: list[str] = []
        page, on_page = 0, _PAGE
        while on_page == _PAGE:
            page += 1
            path = f"{kind}/{path_segment('owner', self.metadata.owner)}/repos"
            names = await self._api.ask(path, {"page": str(page)}, repositories)
            found, on_page = found + names, len(names)
        return found

    async def _runs(self, repo: str) -> list[int]:
        """List the runs that wait and that run; none for a repository that does not exist."""
        found: list[int] = []
        for status in ("queued", "in_progress"):
            path, parameters = f"{self._repository(repo)}/actions/runs", {"status": status, "per_page": "100"}
            found += await self._api.ask(path, parameters, unfinished_runs, missing=[])
        return found

    async def _jobs(self, repo: str, run: int) -> int:
        path = f"{self._repository(repo)}/actions/runs/{run}/jobs"
        return await self._api.ask(path, {"per_page": "100"}, count_for_labels, self._labels, self._counts_unlabelled)

    def _repository(self, repo: str) -> str:
        return f"repos/{path_segment('owner', self.metadata.owner)}/{path_segment('repos', repo)}"

    async def _authorization(self) -> str:
        if self._app is not None:
            return f"token {(await self._app.token()).get_secret_value()}"
        return f"Bearer {self.metadata.personal_access_token.get_secret_value()}"
