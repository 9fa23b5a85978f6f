"""The error tree; each class says who can fix it.

    KedaPyError
    ├── ConfigError          the user edits an object; not retried until it changes
    ├── ScalerError          the source did not answer; the next poll retries, and it counts toward fallback
    └── KubeError            the API server said no (status, reason, message as in a Kubernetes Status)
        ├── Unauthorized         401
        ├── Forbidden            403
        ├── NotFound             404
        ├── Conflict             409  another client wrote first
        │   └── AlreadyExists    409  reason AlreadyExists
        ├── Gone                 410  the resource version is too old
        ├── Invalid              422
        ├── TooManyRequests      429  with `retry_after` seconds
        ├── NotLeading           not asked: only the holder of the Lease writes, and that is not us any more
        ├── ReadOnly             not asked: this process only reads (`--shadow`)
        └── Unavailable          no answer at all, 5xx, or a broken connection

Unknown is an exception, never 0, False or None. Log an error or raise it, not both. No message carries a secret.
"""

from collections.abc import Sequence


class KedaPyError(Exception):
    """Everything this project raises on purpose."""


def forget_frames(error: BaseException) -> None:
    """Let go of the frames that an error and those it came from have passed; for who turns it into another.

    A library's frames often hold the error that passed them. Such a ring stays until Python looks for garbage: 10 KB
    for each connection that is refused.
    """
    known: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is not None and id(one) not in known:
            known.add(id(one))
            one.__traceback__ = None
            left += one.__cause__, one.__context__


class ConfigError(KedaPyError):
    """A manifest, flag or referenced object is wrong: `field` names it, the text names value and remedy.

    `parts`: the mistakes of which the text tells, where they are several.
    """

    def __init__(self, message: str, *, field: str = "", parts: "Sequence[ConfigError]" = ()) -> None:
        super().__init__(message)
        self.field, self._parts = field, tuple(parts)

    @property
    def each(self) -> "tuple[ConfigError, ...]":
        """The mistakes one by one."""
        return self._parts or (self,)


class ScalerError(KedaPyError):
    """A metric source could not answer now."""


class EmptyAnswer(ScalerError):
    """A metric source answered, with nothing in it."""


class AnswerTooLong(ScalerError):
    """A metric source answered with more than is read: where it can be asked for less, ask again."""


class AnswerTooCostly(ScalerError):
    """Reading a text takes more CPU time or memory than it may: reading it again does not help."""


class KubeError(KedaPyError):
    """The API server refused or failed; `status` 0 means that no answer came."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


class Unauthorized(KubeError):
    """401: who we are was not believed."""


class Forbidden(KubeError):
    """403: we may not; RBAC must change."""


class NotFound(KubeError):
    """404: the object or the resource is not there."""


class Conflict(KubeError):
    """409: another client wrote first, or a precondition failed."""


class AlreadyExists(Conflict):
    """409: an object of that name is there already."""


class Gone(KubeError):
    """410: the resource version or continue token is too old; list again."""


class Invalid(KubeError):
    """422: the object was refused; the message names the fields."""


class TooManyRequests(KubeError):
    """429: wait `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: float, status: int = 429, reason: str = "TooManyRequests") -> None:
        super().__init__(message, status=status, reason=reason)
        self.retry_after = retry_after


class NotLeading(KubeError):
    """We do not hold the Lease any more: not sent. The replica that holds it does what is to be done."""


class ReadOnly(KubeError):
    """Not sent: this process only reads."""


class Unavailable(KubeError):
    """No answer, a broken connection, a time-out, or a 5xx."""
