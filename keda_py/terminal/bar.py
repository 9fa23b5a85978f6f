"""A bar on stderr that shows how far something is, where a person watches; nothing in a pipe."""

import sys
from types import TracebackType

_WIDTH = 30


class Bar:
    """Use it as a context manager: it is gone afterwards."""

    def __init__(self, title: str) -> None:
        self._title, self._shown = title, ""

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def show(self, share: float, at: str) -> None:
        """A share from 0 to 1, and a word for what is done now."""
        if not sys.stderr.isatty():
            return
        done = round(share * _WIDTH)
        shown = f"{self._title} [{'#' * done}{'.' * (_WIDTH - done)}] {share:4.0%} {at}"
        if shown != self._shown:
            self._shown = shown
            sys.stderr.write(f"\r\x1b[K{shown}")
            sys.stderr.flush()
