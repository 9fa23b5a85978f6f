"""One installation for each module, its control period, and what became of each wave."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest

from tests.hostile import judge
from tests.hostile.case import Case
from tests.hostile.installation import Installation, build_installation
from tests.hostile.wave import Verdict, run_wave
from tests.programs.client import fresh_programs

Endure = Callable[[Case, Sequence[Case]], Awaitable[None]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--alone", action="store_true", help="let each hostile case loose by itself")


@pytest.fixture(scope="module", autouse=True)
def fresh() -> Iterator[None]:
    """A forked program shares memory with others; here it is measured."""
    with fresh_programs():
        yield


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with build_installation(tmp_path_factory.mktemp("hostile")) as one:
        yield one


@pytest.fixture(scope="module")
def control(installation: Installation) -> judge.Control:
    """What is seen while nobody attacks, just before."""
    verdict = asyncio.run(run_wave(installation, (), None))
    assert verdict.seen is not None, verdict.problems
    return judge.control_of(verdict.seen)


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return {}


@pytest.fixture
def endure(
    request: pytest.FixtureRequest, installation: Installation, control: judge.Control, verdicts: dict[str, Verdict]
) -> Endure:
    """Let a case loose, with the others of its wave, and raise AssertionError for what must not be."""
    alone = bool(request.config.getoption("--alone", default=False))

    async def endure(case: Case, cases: Sequence[Case]) -> None:
        wave = [case] if alone else [one for one in cases if one.company == case.company]
        name = case.id if alone else case.company
        if name not in verdicts:
            verdicts[name] = await run_wave(installation, wave, control)
            print(f"{name}: {verdicts[name].summary()}")  # noqa: T201 - shown with a failure, or by -s
        verdict = verdicts[name]
        if verdict.problems:
            together = ", ".join(one.id for one in wave)
            pytest.fail("\n".join([*verdict.problems, f"the cases of this wave: {together}"]), pytrace=False)
        if case.id in verdict.own:
            pytest.fail(verdict.own[case.id], pytrace=False)

    return endure
