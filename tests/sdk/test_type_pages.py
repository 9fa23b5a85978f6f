"""Scale on the jobs of a test.

A page of a type that no file of facts knows.
"""

from typing import Annotated

from pydantic import SecretStr

from keda_py.sdk.advanced import META
from keda_py.sdk.reference import example_trigger, render_page
from keda_py.sdk.scaler import AUTH, ENV, Scaler, TriggerMetadata, sources
from keda_py.sdk.type_pages import TypePage, page_of_class


class BlockMetadata(TriggerMetadata):
    token: Annotated[SecretStr, sources(AUTH)]
    """Proves who asks."""
    secret: Annotated[SecretStr, sources(ENV)] = SecretStr("")


class JobsMetadata(BlockMetadata):
    """Keys of `jobs`."""

    wait: str = "1s"
    """Between two looks;
    with its unit."""
    jobs: Annotated[float, sources(META, AUTH)]
    quiet: float = 0.0


class JobsScaler(Scaler[JobsMetadata]):
    @property
    def metric_name(self) -> str:
        """Always `jobs`.

        And no more.
        """
        return "jobs"

    @property
    def target(self) -> float:
        """`jobs`."""
        return self.metadata.jobs

    @property
    def activation(self) -> float:
        """`quiet`."""
        return self.metadata.quiet


def page() -> TypePage:
    return page_of_class("jobs", JobsScaler)


def test_docstrings_tell_what_it_measures_and_what_its_keys_mean() -> None:
    assert page().summary == "Scale on the jobs of a test."
    assert page().metric == "Always `jobs`."
    assert {key.name: meaning for key, meaning in page().keys} == {
        "wait": "Between two looks; with its unit.",
        "jobs": "The value that one replica should have; all together, with metricType Value.",
        "quiet": "The trigger is active above this value.",
        "token": "Proves who asks.",
        "secret": "",
    }


def test_parameters_of_an_authentication_stand_apart() -> None:
    assert [key.name for key, _ in page().parameters] == ["token"]
    assert [key.name for key, _ in page().settings] == ["wait", "jobs", "quiet", "secret"]


def test_a_page_is_complete_without_facts() -> None:
    assert (page().permissions, page().tested, example_trigger(page())) == ("", "", "")
    text = render_page(page())
    assert "| `jobs` | m > a | float | **required** | The value that one replica" in text
    assert "| `secretFromEnv` | e | secret |  |  |" in text
    assert "| parameter of a TriggerAuthentication |" in text
    assert "```yaml" not in text


def test_what_the_sdk_says_of_a_property_is_not_a_types_own() -> None:
    class Silent(Scaler[JobsMetadata]):
        pass

    assert page_of_class("silent", Silent).metric == ""
