"""Scale on the messages in a queue of ActiveMQ, asked through Jolokia."""

from collections.abc import Mapping
from typing import Annotated, Final
from urllib.parse import parse_qs, unquote, urlsplit

import re2
from pydantic import SecretStr

from keda_py.sdk.advanced import META, ScalerContext, named
from keda_py.sdk.scaler import AUTH, ENV, Activation, ConfigError, Reading, Scaler, Target, TriggerMetadata, sources
from scalers.shared.brokers.jolokia import path_part, read_count
from scalers.shared.credentials.basic import basic
from scalers.shared.http_answer import HttpQuestion

_TEMPLATE: Final = (
    "http://{{.ManagementEndpoint}}/api/jolokia/read/org.apache.activemq:type=Broker,brokerName={{.BrokerName}},"
    "destinationType=Queue,destinationName={{.DestinationName}}/QueueSize"
)
_PLACEHOLDER = re2.compile(r"\{\{\s*\.(ManagementEndpoint|BrokerName|DestinationName)\s*\}\}")


class ActivemqMetadata(TriggerMetadata):
    """Keys of `activemq`."""

    management_endpoint: str = ""
    destination_name: str = ""
    broker_name: str = ""
    username: Annotated[SecretStr, sources(AUTH, ENV, META)]
    password: Annotated[SecretStr, sources(AUTH, ENV, META)]
    cors_header: str = ""
    rest_api_template: Annotated[str, named("restAPITemplate")] = ""
    target_queue_size: Annotated[int, Target()] = 10
    activation_target_queue_size: Annotated[int, Activation()] = 0


class ActivemqScaler(Scaler[ActivemqMetadata]):
    """One GET for each reading."""

    def __init__(self, metadata: ActivemqMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        template = metadata.rest_api_template
        names = _names_in(template) if template else _names_of(metadata)
        escape = str if template else path_part
        endpoint, self._queue = names["ManagementEndpoint"], names["DestinationName"]
        parts = {**{key: escape(name) for key, name in names.items()}, "ManagementEndpoint": endpoint}
        url = _PLACEHOLDER.sub(lambda match: parts[match.group(1)], template or _TEMPLATE)
        origin = {"Origin": metadata.cors_header or f"http://{endpoint}"}
        self._question = HttpQuestion(url=url, headers={**origin, **basic(metadata.username, metadata.password)})

    @property
    def metric_name(self) -> str:
        """`activemq-<destinationName>`."""
        return f"activemq-{self._queue}"

    async def read(self) -> Reading:
        """The size of the queue now; a queue that is not there is an error."""
        return await read_count(self.context, self._question, f'activemq queue "{self._queue}"')


def _names_of(metadata: ActivemqMetadata) -> Mapping[str, str]:
    named_by = {
        "ManagementEndpoint": ("managementEndpoint", metadata.management_endpoint),
        "DestinationName": ("destinationName", metadata.destination_name),
        "BrokerName": ("brokerName", metadata.broker_name),
    }
    for key, value in named_by.values():
        if not value:
            raise ConfigError(f"no {key} given: add it, or write a restAPITemplate", field=key)
    return {name: value for name, (_, value) in named_by.items()}


def _names_in(template: str) -> Mapping[str, str]:
    """Read the names in a template `.../org.apache.activemq:brokerName=B,destinationName=D/QueueSize`."""
    key = "restAPITemplate"
    try:
        parts = urlsplit(template)
    except ValueError:
        raise ConfigError(f"{key}: is not an address: write http://HOST:PORT/...", field=key) from None
    properties = parse_qs(unquote(parts.path).partition(":")[2].replace(",", "&"), keep_blank_values=True)
    found = {name: properties.get(name, [""])[0] for name in ("brokerName", "destinationName")}
    found["destinationName"] = found["destinationName"].partition("/")[0]
    lacking = [name for name, value in found.items() if not value]
    if not parts.netloc or lacking:
        what = "host" if not parts.netloc else " and no ".join(lacking)
        raise ConfigError(f"{key}: no {what} in it: write ...:brokerName=B,destinationName=D/QueueSize", field=key)
    names = {"BrokerName": found["brokerName"], "DestinationName": found["destinationName"]}
    return {**names, "ManagementEndpoint": parts.netloc.rpartition("@")[2]}
