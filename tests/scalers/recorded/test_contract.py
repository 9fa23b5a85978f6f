"""Each type keeps the SDK's contract with the smallest trigger that was recorded of it."""

import pytest

from keda_py.sdk.context import SharedContext
from keda_py.sdk.registry import scaler_class
from keda_py.testing import check_scaler
from tests.scalers.recorded.metadata_cases import recorded_types
from tests.scalers.triggers import trigger_of

TYPES = [
    *("aws-cloudwatch", "aws-dynamodb", "aws-dynamodb-streams", "aws-kinesis-stream"),
    *("gcp-cloudtasks", "gcp-pubsub", "gcp-stackdriver", "gcp-storage"),
    *("huawei-cloudeye", "openstack-metric", "openstack-swift", "temporal"),
]


@pytest.mark.parametrize("trigger_type", TYPES)
async def test_the_contract_is_kept(trigger_type: str, lent: SharedContext) -> None:
    minimal = next(case for case in recorded_types()[trigger_type] if case.name == "minimal")
    given = minimal.recorded
    trigger = trigger_of(trigger_type, given["metadata"], env=given.get("env"), auth=given.get("auth"))
    await check_scaler(scaler_class(trigger_type), trigger, minimal.context(lent))
