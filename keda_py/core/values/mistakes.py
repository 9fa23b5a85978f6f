"""All mistakes of one object in one error, so that they can be corrected together."""

from collections.abc import Iterator
from contextlib import contextmanager

from keda_py.errors import ConfigError

# Mistakes that an error lists; a list of a thousand wrong rows is one mistake of its author.
MOST = 20


class Mistakes:
    """Collects the errors of an object's parts, so that the parts after a wrong one are still checked."""

    def __init__(self) -> None:
        self._found: list[ConfigError] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Keep a ConfigError that the block raises."""
        try:
            yield
        except ConfigError as error:
            self._found += error.each

    def refuse(self) -> None:
        """Raise the kept errors as one ConfigError: its field is that of the first, `each` has all of them."""
        if not self._found:
            return
        if len(self._found) == 1:
            raise self._found[0]
        left = len(self._found) - MOST
        more = f"; and {left} more" if left > 0 else ""
        text = "; ".join(map(str, self._found[:MOST]))
        raise ConfigError(f"{text}{more}", field=self._found[0].field, parts=self._found[:MOST])
