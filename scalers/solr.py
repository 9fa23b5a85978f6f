"""Scale on how many documents of a Solr collection a query finds."""

from typing import Annotated

from pydantic import SecretStr

from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import META
from keda_py.sdk.scaler import AUTH, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.answers import gjson
from scalers.shared.credentials.basic import basic
from scalers.shared.http_answer import HttpQuestion, ask


class SolrMetadata(TriggerMetadata):
    """Keys of `solr`."""

    host: str
    collection: str
    target_query_value: Annotated[float, Target()]
    activation_target_query_value: Annotated[float, Activation()] = 0.0
    query: str = "*:*"
    username: Annotated[str, sources(AUTH, META)]
    password: Annotated[SecretStr, sources(AUTH, META)]


class SolrScaler(Scaler[SolrMetadata]):
    """A search whose documents are not looked at."""

    metric_name = "solr"

    async def read(self) -> Reading:
        """Search now; a refusal is an error, and so is an answer without a count."""
        metadata = self.metadata
        question = HttpQuestion(
            url=f"{metadata.host}/solr/{path_segment('collection', metadata.collection, safe=',%')}/select",
            parameters={"q": metadata.query, "wt": "json"},
            headers=basic(metadata.username, metadata.password.get_secret_value()),
        )
        answer = await ask(self.context, question)
        if not answer.is_success:
            raise ScalerError(f"solr answered with status {answer.status_code}: look at username, password, collection")
        (found,) = await self.context.parse(
            gjson.scalars_in, answer.content, ["response.numFound"], inline_bytes=gjson.INLINE_BYTES
        )
        return _reading(found)


def _reading(found: object) -> Reading:
    match found:
        case bool():
            pass
        case int():
            return Reading(value=float(found))
    raise ScalerError("solr answered with something else than a count in response.numFound")
