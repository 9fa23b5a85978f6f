"""The code names components, not persons."""

import pytest

from tests.words import hits, hits_in


def test_the_code_says_plainly_who_does_what() -> None:
    assert hits() == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\n# Nobody reads it.\n", 2),
        ('"""The name, None where there is none."""\n', 1),
        ('raise ValueError(f"{text!r} is no number")\n', 1),
        ("# what a caller gets, whatever\n# is in the cache\n", 1),
    ],
)
def test_a_phrase_that_is_to_be_said_plainly_is_found(text: str, line: int) -> None:
    assert [number for number, _ in hits_in(text)] == [line]
    assert hits_in(text, allowed=[text]) == []
