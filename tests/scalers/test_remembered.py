"""Compiled texts of users are kept once, within bounds."""

import gc
from weakref import WeakSet

import pytest

from keda_py.errors import ScalerError
from scalers.shared.remembered import LONG_KEPT, SHORT, SHORT_KEPT, remembered


class Made:
    """Something that takes memory."""


def test_a_text_is_read_once() -> None:
    seen = list[str]()
    ask = remembered(seen.append)
    for text in ("short", "l" * 1000) * 3:
        ask(text)
    assert len(seen) == 2


@pytest.mark.parametrize(("length", "kept"), [(SHORT, SHORT_KEPT), (SHORT + 1, LONG_KEPT)])
def test_of_many_texts_the_last_are_remembered(length: int, kept: int) -> None:
    alive = WeakSet[Made]()

    def make(text: str) -> Made:
        alive.add(made := Made())
        return made

    ask = remembered(make)
    for number in range(3 * SHORT_KEPT):
        ask(str(number).rjust(length))
    gc.collect()
    assert len(alive) == kept


def test_an_error_is_not_remembered() -> None:
    def make(text: str) -> None:
        raise ScalerError(text)

    ask = remembered(make)
    for _ in range(2):
        with pytest.raises(ScalerError):
            ask("wrong")
