"""Questions to GitHub's REST API, within its limits and, with entity tags, at no cost where nothing has changed."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

import httpx

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import ScalerError
from scalers.shared.builds.job_lists import INLINE_BYTES
from scalers.shared.http_answer import HttpQuestion, get

HEADERS: Final = {"Accept": "application/vnd.github.v3+json", "X-GitHub-Api-Version": "2022-11-28"}
_REFUSALS: Final = (httpx.codes.FORBIDDEN, httpx.codes.TOO_MANY_REQUESTS)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_LONGEST_WAIT: Final = timedelta(hours=24)
_LONGEST_TAG: Final = 256

T = TypeVar("T")


class RateLimited(Exception):
    """GitHub's rate limit is reached."""


@dataclass(frozen=True, slots=True)
class _TaggedAnswer:
    """A parsed answer and its entity tag."""

    tag: str
    value: object


class GitHubApi:
    """`authorization` gives the header of that name; `limited_until` is when GitHub can be asked again."""

    def __init__(
        self, context: ScalerContext, url: str, authorization: Callable[[], Awaitable[str]], *, tags: bool
    ) -> None:
        self._context, self._url, self._authorization, self._tags = context, url, authorization, tags
        self.limited_until = _NEVER
        self._before: dict[str, _TaggedAnswer] = {}
        self._now: dict[str, _TaggedAnswer] = {}

    def begin(self) -> None:
        """Begin a new round of questions: forget answers that the last round did not use."""
        self._before, self._now = self._now, {}

    async def ask(
        self,
        path: str,
        parameters: dict[str, str],
        read: Callable[..., T],
        *arguments: object,
        missing: T | None = None,
    ) -> T:
        """Ask, and return what `read` makes of the answer; `missing` stands for 404.

        Raises ScalerError, and RateLimited.
        """
        what = f"{path}?{parameters}"
        answer = await get(self._context, await self._question(path, parameters, what))
        self._obey(answer)
        if answer.status_code == httpx.codes.NOT_FOUND and missing is not None:
            return missing
        if answer.status_code == httpx.codes.NOT_MODIFIED and (known := self._before.get(what)):
            self._now[what] = known
            value: T = known.value  # type: ignore[assignment]  # what `read` made of it before
            return value
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(f"the GitHub REST API returned an error: {path}: status {answer.status_code}")
        value = await self._context.parse(read, answer.content, *arguments, inline_bytes=INLINE_BYTES)
        if self._tags and (tag := answer.headers.get("ETag", "")[:_LONGEST_TAG]):
            self._now[what] = _TaggedAnswer(tag, value)
        return value

    async def _question(self, path: str, parameters: dict[str, str], what: str) -> HttpQuestion:
        known = self._before.get(what)
        tagged = {"If-None-Match": known.tag} if known else {}
        headers = {**HEADERS, "Authorization": await self._authorization(), **tagged}
        return HttpQuestion(url=f"{self._url}/{path}", parameters=parameters, headers=headers)

    def _obey(self, answer: httpx.Response) -> None:
        """Remember when the rate limit ends. Raises RateLimited where this question was refused."""
        now = self._context.clock.now()
        until = min(_limit(answer.headers, now), now + _LONGEST_WAIT)
        self.limited_until = max(self.limited_until, until)
        if answer.status_code in _REFUSALS and until > now:
            raise RateLimited


def _limit(headers: httpx.Headers, now: datetime) -> datetime:
    """As in KEDA, Retry-After counts only beside the number of questions that are left."""
    left = headers.get("X-RateLimit-Remaining", "")
    try:
        if not left:
            return _NEVER
        if wait := headers.get("Retry-After", ""):
            return now + timedelta(seconds=min(int(wait), _LONGEST_WAIT.total_seconds()))
        return datetime.fromtimestamp(int(headers["X-RateLimit-Reset"]), UTC) if int(left) == 0 else _NEVER
    except (KeyError, ValueError, OverflowError, OSError):
        return _NEVER
