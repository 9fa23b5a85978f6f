"""The code names components, not persons."""

import pytest

from tests.words import hits, hits_in, riddles, riddles_in


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


def test_each_docstring_begins_with_a_verb_or_a_noun() -> None:
    assert riddles() == []


@pytest.mark.parametrize("text", ["Of one that is gone.", "What is left.", "None where it has none.", "Who may ask."])
def test_a_docstring_that_begins_like_a_riddle_is_found(text: str) -> None:
    assert riddles_in(f'def work() -> None:\n    """{text}"""\n') == [(1, text)]
    assert riddles_in('def work() -> None:\n    """Drop all due keys."""\n') == []
