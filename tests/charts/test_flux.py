"""The right that `environments.fluxAnnotations` adds is given only where it is switched on."""

from typing import Any

import pytest

from tests.charts.rendering import render
from tests.charts.rights import given

PATCHES = {("deployments", "patch"), ("statefulsets", "patch")}


@pytest.mark.parametrize("account", ["keda-operator", "keda-operator-release"])
def test_the_right_is_given_only_where_it_is_switched_on(account: str) -> None:
    def rights(**values: Any) -> set[tuple[str, str]]:
        return {(one.resource, one.verb) for one in given(render(**values), account)}

    on = {"environments": {"fluxAnnotations": True}}
    assert not PATCHES & rights()
    assert rights(**on) >= PATCHES
