"""The mistakes of one object, told together, so that they can be mended together."""

from collections.abc import Iterator
from contextlib import contextmanager

from keda_py.errors import ConfigError

MOST = 20
"""Mistakes that are told; a list of a thousand wrong rows is one mistake of its author."""


class Mistakes:
    """Collects what parts of an object raise, so that the parts after them are read, too."""

    def __init__(self) -> None:
        self._found: list[ConfigError] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """A ConfigError ends the block and is kept."""
        try:
            yield
        except ConfigError as error:
            self._found += error.each

    def refuse(self) -> None:
        """Raise what was kept as one ConfigError: the field is that of the first, `each` has all of them."""
        if not self._found:
            return
        if len(self._found) == 1:
            raise self._found[0]
        left = len(self._found) - MOST
        more = f"; and {left} more" if left > 0 else ""
        text = "; ".join(map(str, self._found[:MOST]))
        raise ConfigError(f"{text}{more}", field=self._found[0].field, parts=self._found[:MOST])
