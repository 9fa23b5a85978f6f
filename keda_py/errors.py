"""Error tree; each class tells who can fix the error.

    KedaPyError
    ├── ConfigError          the user edits an object; not retried until it changes
    ├── ScalerError          the source did not answer; the next poll retries, and it counts toward fallback
    └── KubeError            the API server refused (status, reason, message as in a Kubernetes Status)
        ├── Unauthorized         401
        ├── Forbidden            403
        ├── NotFound             404
        ├── Conflict             409  another client wrote first
        │   └── AlreadyExists    409  reason AlreadyExists
    ├── CountMissing         500  /scale of an object that has no field for its replicas
        ├── Gone                 410  the resource version is too old
        ├── Invalid              422
        ├── TooManyRequests      429  with `retry_after` seconds
        ├── NotLeading           not sent: this replica does not hold the Lease any more
        ├── ReadOnly             not sent: this process only reads (`--shadow`)
        └── Unavailable          no answer at all, 5xx, or a broken connection

Unknown is an exception, never 0, False or None. Log an error or raise it, not both. No message carries a secret.
"""

from collections.abc import Sequence


class KedaPyError(Exception):
    """Base of all errors that this project raises on purpose."""


def forget_frames(error: BaseException) -> None:
    """Drop the frames of an error and its causes; for code that turns it into another error.

    A library's frames often refer to the error that passed through them. Such a cycle stays in memory until the garbage
    collector runs: 10 KB for each refused connection.
    """
    known: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        found = left.pop()
        if found is not None and id(found) not in known:
            known.add(id(found))
            found.__traceback__ = None
            left += found.__cause__, found.__context__


class ConfigError(KedaPyError):
    """Error in a manifest, flag or referenced object: `field` names it, the text names value and remedy.

    `parts` are the single errors, if the text lists several.
    """

    def __init__(self, message: str, *, field: str = "", parts: "Sequence[ConfigError]" = ()) -> None:
        super().__init__(message)
        self.field, self._parts = field, tuple(parts)

    @property
    def each(self) -> "tuple[ConfigError, ...]":
        """Return the single errors."""
        return self._parts or (self,)

    def prefixed(self, text: str) -> "ConfigError":
        """The same error of the same fields, with `text` in front of it and of each of its mistakes."""
        parts = [ConfigError(f"{text}{part}", field=part.field) for part in self._parts]
        return ConfigError(f"{text}{self}", field=self.field, parts=parts)


class ScalerError(KedaPyError):
    """Failure of a metric source to answer now."""


class EmptyAnswer(ScalerError):
    """Answer of a metric source without any value."""


class AnswerTooLong(ScalerError):
    """Answer of a metric source above the size limit; a smaller request may succeed."""


class AnswerTooCostly(ScalerError):
    """Text that takes more CPU time or memory to parse than allowed; another attempt would fail too."""


class KubeError(KedaPyError):
    """Refusal or failure of the API server; `status` is 0 without an answer."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


class Unauthorized(KubeError):
    """401: our credentials were not accepted."""


class Forbidden(KubeError):
    """403: our RBAC rights do not allow the request."""


class NotFound(KubeError):
    """404: the object or the resource does not exist."""


class Conflict(KubeError):
    """409: another client wrote first, or a precondition failed."""


class AlreadyExists(Conflict):
    """409: an object of that name exists already."""


class Gone(KubeError):
    """410: the resource version or continue token is too old; list again."""


class Invalid(KubeError):
    """422: the object was refused; the message names the fields."""


class CountMissing(KubeError):
    """500 of /scale: the object has no field for its replicas, and its definition has no default for it."""


class TooManyRequests(KubeError):
    """429: wait `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: float, status: int = 429, reason: str = "TooManyRequests") -> None:
        super().__init__(message, status=status, reason=reason)
        self.retry_after = retry_after


class NotLeading(KubeError):
    """Write that was not sent because this replica no longer holds the Lease; the new holder does the work."""


class ReadOnly(KubeError):
    """Write that was not sent because this process only reads."""


class Unavailable(KubeError):
    """No answer, a broken connection, a time-out, or a 5xx."""
