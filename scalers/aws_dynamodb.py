"""Scale on the items that a DynamoDB query finds."""

from typing import Annotated

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import Activation, Reading, Scaler, ScalerError, Target
from scalers.shared.aws.aws import AwsServiceMetadata
from scalers.shared.aws.aws_clients import AwsClient, ask, aws_client, aws_service
from scalers.shared.aws.dynamodb_values import attribute_names, attribute_values


class AwsDynamodbMetadata(AwsServiceMetadata):
    """Keys of `aws-dynamodb`."""

    target_value: Annotated[int | None, Target()] = None
    activation_target_value: Annotated[int, Activation()] = 0
    table_name: str
    key_condition_expression: str
    expression_attribute_names: str
    expression_attribute_values: str
    filter_expression: str = ""
    index_name: str = ""


class AwsDynamodbScaler(Scaler[AwsDynamodbMetadata]):
    """One query for the count alone, of the first page (a megabyte of items) as in KEDA."""

    metric_name = "aws-dynamodb-{table_name}"
    _client: AwsClient

    def __init__(self, metadata: AwsDynamodbMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._service = aws_service("dynamodb", metadata, context)
        optional = {"IndexName": metadata.index_name, "FilterExpression": metadata.filter_expression}
        self._query: dict[str, object] = {
            "TableName": metadata.table_name,
            "KeyConditionExpression": metadata.key_condition_expression,
            "ExpressionAttributeNames": attribute_names(metadata.expression_attribute_names),
            "ExpressionAttributeValues": attribute_values(metadata.expression_attribute_values),
            **{name: text for name, text in optional.items() if text},
            "Select": "COUNT",
        }

    async def open(self) -> None:
        """Share the client of this region, endpoint and identity."""
        self._client = await aws_client(self._service, self.context)

    async def read(self) -> Reading:
        """The count now; an answer without one is an error."""
        what = f"DynamoDB table {self.metadata.table_name}"
        count = (await ask(self.context, what, self._client.query, **self._query)).get("Count")
        if not isinstance(count, int) or isinstance(count, bool):
            raise ScalerError(f"{what}: the answer has no Count")
        return Reading(value=float(count))
