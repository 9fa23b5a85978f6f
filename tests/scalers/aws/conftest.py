"""Clients of moto's server, to put into it what the scalers find."""

import itertools
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from keda_py.cloud.aws import AmbientIdentity
from keda_py.cloud.aws_sessions import open_session

_NUMBERS = itertools.count()


@pytest.fixture
def aws(aws_endpoint: str) -> Callable[[str], AbstractAsyncContextManager[Any]]:
    """`async with aws("kinesis") as client`."""

    def client(service: str) -> AbstractAsyncContextManager[Any]:
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
        # Not one of botocore's own: each would read megabytes of service files.
        session = open_session(AmbientIdentity(), "eu-west-1", 60)
        return session.create_client(service, region_name="eu-west-1", endpoint_url=aws_endpoint, **keys)

    return client


@pytest.fixture
def name() -> str:
    """One that no other test uses."""
    return f"name-{next(_NUMBERS)}"


@pytest.fixture
def place(aws_endpoint: str) -> dict[str, str]:
    """Metadata of every AWS trigger."""
    return {"awsRegion": "eu-west-1", "awsEndpoint": aws_endpoint}


@pytest.fixture
def keys() -> dict[str, str]:
    return {"awsAccessKeyID": "AKID", "awsSecretAccessKey": "s3cret"}
