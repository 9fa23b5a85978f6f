"""Scale on the messages in a queue of ActiveMQ Artemis, asked through Jolokia."""

from collections.abc import Mapping
from typing import Annotated, Final
from urllib.parse import parse_qs, quote, unquote, urlsplit

from pydantic import SecretStr

from keda_py.sdk.advanced import META, ScalerContext
from keda_py.sdk.scaler import AUTH, ENV, Activation, ConfigError, Reading, Scaler, Target, sources
from scalers.shared.brokers.jolokia import path_part, read_count
from scalers.shared.credentials.basic import basic
from scalers.shared.credentials.client_tls import ClientTlsMetadata, client_tls
from scalers.shared.http_answer import HttpQuestion

_TEMPLATE: Final = (
    "http://<<managementEndpoint>>/console/jolokia/read/org.apache.activemq.artemis:"
    'broker="<<brokerName>>",component=addresses,address="<<brokerAddress>>",'
    'subcomponent=queues,routing-type="anycast",queue="<<queueName>>"/MessageCount'
)
_KEY: Final = "restApiTemplate"
_UNESCAPED: Final = "$&+,/:;=@"


class ArtemisQueueMetadata(ClientTlsMetadata):
    """Keys of `artemis-queue`."""

    management_endpoint: str = ""
    queue_name: str = ""
    broker_name: str = ""
    broker_address: str = ""
    username: Annotated[SecretStr, sources(AUTH, META, ENV)]
    password: Annotated[SecretStr, sources(AUTH, META, ENV)]
    rest_api_template: str = ""
    queue_length: Annotated[int, Target()] = 10
    activation_queue_length: Annotated[int, Activation()] = 10
    cors_header: str = ""


class ArtemisQueueScaler(Scaler[ArtemisQueueMetadata]):
    """One GET for each reading."""

    def __init__(self, metadata: ArtemisQueueMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        template = metadata.rest_api_template
        names = _names_in(template) if template else _names_of(metadata)
        self._queue, endpoint = names["queueName"], names["managementEndpoint"]
        url = template or _TEMPLATE
        for name, value in names.items():
            part = value if template or name == "managementEndpoint" else path_part(value)
            url = url.replace(f"<<{name}>>", part)
        origin = {"Origin": metadata.cors_header or f"http://{endpoint}"}
        self._question = HttpQuestion(
            url=url,
            headers={**origin, **basic(metadata.username, metadata.password)},
            tls=client_tls(metadata, context),
        )

    @property
    def metric_name(self) -> str:
        """`artemis-<queueName>`."""
        return f"artemis-{self._queue}"

    async def read(self) -> Reading:
        """The messages in the queue now; a queue that is not there is an error."""
        return await read_count(self.context, self._question, f'artemis queue "{self._queue}"')


def _names_of(metadata: ArtemisQueueMetadata) -> Mapping[str, str]:
    names = {
        "managementEndpoint": metadata.management_endpoint,
        "queueName": metadata.queue_name,
        "brokerName": metadata.broker_name,
        "brokerAddress": metadata.broker_address,
    }
    for key, value in names.items():
        if not value:
            raise ConfigError(f"no {key} given: add it, or write a {_KEY}", field=key)
    return names


def _names_in(template: str) -> Mapping[str, str]:
    """Read the names in a template; quotes become part of the names, as in KEDA, and doubled ones do not."""
    try:
        parts = urlsplit(template)
    except ValueError:
        raise ConfigError(f"{_KEY}: is not an address: write http://HOST:PORT/...", field=_KEY) from None
    if quote(unquote(parts.path), safe=_UNESCAPED) == parts.path:
        raise ConfigError(f'{_KEY}: write names in quotes, as in queue="orders", and not as %22', field=_KEY)
    properties = parts.path.partition(":")[2].partition("/")[0].replace(",", "&").replace('""', "")
    found = {name: values[0] for name, values in parse_qs(properties, keep_blank_values=True).items()}
    names = {
        "managementEndpoint": parts.netloc.rpartition("@")[2],
        "queueName": found.get("queue", ""),
        "brokerName": found.get("broker", ""),
        "brokerAddress": found.get("address", ""),
    }
    for name, value in names.items():
        if not value:
            raise ConfigError(f"{_KEY}: no {name} in it: write ...:broker=B,address=A,queue=Q/MessageCount", field=_KEY)
    return names
