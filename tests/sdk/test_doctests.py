"""The examples in the docstrings that authors of scalers read."""

import doctest
from types import ModuleType

import pytest

import keda_py.sdk.context
import keda_py.sdk.contract
import keda_py.testing


@pytest.mark.parametrize(
    "module", [keda_py.sdk.context, keda_py.sdk.contract, keda_py.testing], ids=lambda one: one.__name__
)
def test_the_examples_of_the_sdk_do_what_they_show(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)
