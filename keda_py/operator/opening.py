"""What every kind of operator needs opened: the API server's client, HTTP for scalers, the group of their tasks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from keda_py.answers.bounds import AnswerBounds
from keda_py.answers.connections import PART_OF_DESCRIPTORS, Connections
from keda_py.clock import Clock
from keda_py.net.tls import TlsContexts
from keda_py.operator.assembly import OperatorInputs, open_client, open_http
from keda_py.readings.journal import Journal
from keda_py.serving.ports.listening import descriptors
from keda_py.settings.settings import Settings
from keda_py.telemetry.prometheus import OperatorMetrics


@asynccontextmanager
async def opened(settings: Settings, clock: Clock, journal: Journal) -> AsyncIterator[OperatorInputs]:
    """Open while the block lasts; its tasks have ended before anything is closed. Raises ConfigError."""
    instruments = OperatorMetrics(detailed=settings.serving.detailed_http_metrics)
    client = open_client(settings, clock, instruments)
    tls = TlsContexts(settings.http.min_tls_version, settings.http.ciphers, settings.certificates.ca_dirs)
    answers = AnswerBounds(settings.http.max_response_bytes)
    connections = Connections(share=descriptors() // PART_OF_DESCRIPTORS)
    http = open_http(settings, clock, tls, instruments, answers, connections)
    async with client, answers, http, asyncio.TaskGroup() as tasks:
        yield OperatorInputs(
            settings=settings,
            clock=clock,
            client=client,
            http=http,
            answers=answers,
            connections=connections,
            tls=tls,
            tasks=tasks,
            instruments=instruments,
            journal=journal,
        )
