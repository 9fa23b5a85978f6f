"""The cost of a namespace under a ClusterEnvironment does not grow with the number of namespaces beside it.

Lines of code are counted, which no other work on the machine changes: each function of the operator must execute about
as many of them for a namespace among sixteen as for one among four.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.builders import override
from tests.http_server import HttpServer
from tests.operator.cluster_environments.builders import counts, policy, populate, switch_on
from tests.operator.environments.builders import until
from tests.places import ROOT
from tests.worlds.world import open_world

FEW, MANY = 4, 16
FLOOR = 30
"""Lines a namespace that a function may take more: a batch that falls otherwise makes so much of a difference."""
PLANNING = "core/environment/namespaces/coverage.py"
OTHERS = ("keda_py/localkube", "tests")
Lines = Counter[str]


async def test_the_operator_executes_as_many_lines_a_namespace_among_many_namespaces_as_among_few(
    tmp_path_factory: pytest.TempPathFactory, server: HttpServer
) -> None:
    few, many = [await lines_a_namespace(tmp_path_factory.mktemp("world"), server, n) for n in (FEW, MANY)]
    grown = {name: (few[name], count) for name, count in many.items() if count > 1.2 * few[name] + FLOOR}
    assert grown == {}
    assert sum(many.values()) < 1.05 * sum(few.values())


async def test_a_change_in_one_namespace_plans_no_other_namespace_again(
    tmp_path_factory: pytest.TempPathFactory, server: HttpServer
) -> None:
    few, many = [await lines_of_one_change(tmp_path_factory.mktemp("world"), server, n) for n in (FEW, MANY)]
    plans = [sum(count for name, count in lines.items() if PLANNING in name) for lines in (few, many)]
    assert plans[0] == plans[1] > 0
    assert sum(many.values()) < 1.3 * sum(few.values())


async def lines_of_one_change(folder: Path, server: HttpServer, namespaces: int) -> Lines:
    """Lines while one namespace of many is woken by an Override."""
    async with open_world(folder, server) as world:
        await world.operator.start()
        await switch_on(world)
        await populate(world, *(f"team-{number}" for number in range(namespaces)))
        await world.create(policy())
        await until(world, 20, "12:06")
        target = {"kind": "Environment", "name": "office"}
        with counted_lines() as lines:
            await world.create(override("look", "team-1", state="Awake", target=target, **{"for": "2m"}))
            await world.seconds(60)
        assert counts(world) == {"covered": namespaces, "asleep": namespaces - 1, "awake": 1}
        return lines


async def lines_a_namespace(folder: Path, server: HttpServer, namespaces: int) -> Lines:
    """Lines by function and namespace while all fall asleep and wake."""
    async with open_world(folder, server) as world:
        await world.operator.start()
        await switch_on(world)
        await populate(world, *(f"team-{number}" for number in range(namespaces)))
        await world.create(policy())
        await world.seconds(20)
        with counted_lines() as lines:
            await until(world, 20, "12:06")
            assert counts(world) == {"covered": namespaces, "asleep": namespaces}
            await until(world, 20, "12:12")
            assert counts(world) == {"covered": namespaces, "awake": namespaces}
    return Counter({name: count // namespaces for name, count in lines.items()})


@contextmanager
def counted_lines() -> Iterator[Lines]:
    """Count the lines that functions of the operator execute meanwhile."""
    lines, names = Lines(), dict[CodeType, str]()

    def count(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            lines[names[frame.f_code]] += 1
        return count

    def enter(frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        if code not in names:
            file = Path(code.co_filename)
            inside = file.is_relative_to(ROOT) and file.relative_to(ROOT).as_posix()
            names[code] = f"{inside} {code.co_qualname}" if inside and not inside.startswith(OTHERS) else ""
        return count if names[code] else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield lines
    finally:
        sys.settrace(before)
