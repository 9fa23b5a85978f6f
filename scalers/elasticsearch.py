"""Scale on a number in the answer of a search of Elasticsearch."""

from typing import Self

from pydantic import model_validator

from scalers.shared.elastic.elastic_connection import ElasticMetadata, open_nodes
from scalers.shared.elastic.search import SearchMetadata, SearchScaler


class ElasticsearchMetadata(SearchMetadata, ElasticMetadata):
    """Keys of `elasticsearch`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.check_log_in()
        self.check_search()
        return self


class ElasticsearchScaler(SearchScaler[ElasticsearchMetadata]):
    """The nodes are asked in turn."""

    product = "elasticsearch"

    async def open(self) -> None:
        """See whether it is Elasticsearch."""
        self._nodes = await open_nodes(self.metadata, self.context)
