"""No test sleeps and hopes: real time has a name that says why it passes, all else is an event or a bounded wait."""

import ast

from tests.places import TESTS

SLEEPS = ("asyncio.sleep", "time.sleep", "sleep")


def bare_sleeps(source: str) -> list[int]:
    """The lines that sleep for a number; 0 is a turn of the loop and no time."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return sorted(call.lineno for call in calls if ast.unparse(call.func) in SLEEPS and any(map(_is_bare, call.args)))


def _is_bare(argument: ast.expr) -> bool:
    return ast.unparse(argument) != "0" and not any(isinstance(node, ast.Name) for node in ast.walk(argument))


def test_real_time_that_a_test_waits_for_has_a_name() -> None:
    texts = {str(path.relative_to(TESTS)): path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    found = {name: bare_sleeps(text) for name, text in texts.items() if "sleep(" in text}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_bare_sleep_would_be_found() -> None:
    lines = ("asyncio.sleep(0)", "asyncio.sleep(0.1)", "asyncio.sleep(2 * PAUSE)", "time.sleep(2)", "sleep(1 / 50)")
    assert bare_sleeps("\n".join(lines)) == [2, 4, 5]
