"""A search whose answer holds a number: the keys, and what both search scalers have in common."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Generic, TypeVar

import orjson

from keda_py.core.values.urls import path_segments
from keda_py.sdk.advanced import META, separated_by
from keda_py.sdk.scaler import AUTH, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.answers import gjson
from scalers.shared.elastic.nodes import Nodes, check_status
from scalers.shared.http_answer import KeptQuestion
from scalers.shared.numbers import float_of, reading_of


class SearchMetadata(TriggerMetadata):
    """Keys of a search; `metricName` does nothing, as in KEDA."""

    index: Annotated[list[str], sources(AUTH, META), separated_by(";")]
    search_template_name: Annotated[str, sources(AUTH, META)] = ""
    query: Annotated[str, sources(AUTH, META)] = ""
    parameters: Annotated[list[str], separated_by(";")] = []
    value_location: Annotated[str, sources(AUTH, META)]
    target_value: Annotated[float, sources(AUTH, META), Target()]
    activation_target_value: Annotated[float, Activation()] = 0.0
    ignore_null_values: bool = False
    metric_name: str = ""

    def check_search(self) -> None:
        """Raises ValueError unless it is either a template or a query."""
        if self.search_template_name and self.query:
            raise ValueError("cannot provide both searchTemplateName and query: keep one")
        if not self.search_template_name and not self.query:
            raise ValueError("either searchTemplateName or query must be provided")


S = TypeVar("S", bound=SearchMetadata)


class SearchScaler(Scaler[S], Generic[S]):
    """One POST to one node; the number may be a text in the answer."""

    product: ClassVar[str]
    _nodes: Nodes
    _questions: Sequence[KeptQuestion] | None = None
    """Built at the first read, which tells what is wrong with them."""

    @property
    def metric_name(self) -> str:
        """`<product>-<searchTemplateName>`, or `<product>-query`."""
        return f"{self.product}-{self.metadata.search_template_name or 'query'}"

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, these fail each poll, not the ScaledObject."""
        problems = [gjson.path_problem(self.metadata.value_location)]
        try:
            _parameters(self.metadata.parameters)
        except ScalerError as error:
            problems.append(str(error))
        return tuple(filter(None, problems))

    async def read(self) -> Reading:
        """Search now; a refusal, and an answer without the number, are errors."""
        try:
            return await self._search()
        except ScalerError as error:
            raise ScalerError(f"error inspecting {self.product}: {error}") from None

    async def _search(self) -> Reading:
        if self._questions is None:
            self._questions = self._nodes.questions("POST", *self._search_request())
        answer = await self._nodes.ask(self._questions)
        check_status(answer, self.product)
        found = await self.context.parse(
            gjson.scalar_in, answer.content, self.metadata.value_location, inline_bytes=gjson.INLINE_BYTES
        )
        return self._reading(found)

    def _search_request(self) -> tuple[str, bytes]:
        """Return path and body. Raises ScalerError."""
        metadata = self.metadata
        path = f"/{path_segments('index', ','.join(metadata.index), safe=',')}/_search"
        if metadata.search_template_name:
            parameters = _parameters(metadata.parameters)
            body = {"id": metadata.search_template_name, **({"params": parameters} if parameters else {})}
            return f"{path}/template", orjson.dumps(body)
        self._check_query(metadata.query)
        return path, metadata.query.encode()

    def _check_query(self, query: str) -> None:
        """Raises ScalerError for one that need not be sent."""

    def _reading(self, found: object) -> Reading:
        match found:
            case bool():
                kind = str(found)
            case int() | float():
                return reading_of(float(found))
            case str():
                kind = "String"
                try:
                    return reading_of(float_of(found))
                except ValueError:
                    pass
            case None if self.metadata.ignore_null_values:
                return Reading(value=0.0, note="null counts as 0 (ignoreNullValues)", empty=True)
            case None:
                kind = "Null"
            case _:
                kind = "JSON"
        raise ScalerError(f"valueLocation must point to value of type number but got: '{kind}'")


def _parameters(pairs: list[str]) -> Mapping[str, str]:
    """ "name:value" pairs. Raises ScalerError."""
    found = {}
    for pair in filter(None, pairs):
        name, _, value = (part.strip() for part in pair.partition(":"))
        if not name or not value:
            raise ScalerError(f'parameters: "{pair}" is not name:value')
        found[name] = value
    return found
