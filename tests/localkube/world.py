"""The server and the controllers in one process, with a client that is the cluster's administrator."""

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

import aiohttp

from keda_py.clock import Clock
from keda_py.localkube.admission import Admission
from keda_py.localkube.aggregation import Aggregation
from keda_py.localkube.bootstrap import furnish
from keda_py.localkube.builtins import builtin_registry
from keda_py.localkube.controllers.plane import ControlPlane, PlaneOptions
from keda_py.localkube.custom_resources import CustomResources
from keda_py.localkube.identity import ADMIN, Identity
from keda_py.localkube.rbac import Authorizer
from keda_py.localkube.routes import Routes, Security
from keda_py.localkube.server import ApiServer
from keda_py.localkube.services import ServiceAddresses
from keda_py.localkube.store import Store


class World:
    def __init__(self, clock: Clock, hpa_sync_seconds: float = 15) -> None:
        self.store = Store(clock, builtin_registry())
        CustomResources(self.store)
        self.identity = Identity(clock)
        self._hpa_sync_seconds = hpa_sync_seconds
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        addresses = ServiceAddresses(self.store)
        aggregation = Aggregation(self.store, addresses, self.identity.front_proxy)
        authority = self.identity.certificate_authority.decode()
        options = PlaneOptions(hpa_sync_seconds=self._hpa_sync_seconds, certificate_authority=authority)
        await self._stack.enter_async_context(ControlPlane(self.store, aggregation, options))
        furnish(self.store, self.identity)
        security = Security(identity=self.identity, authorizer=Authorizer(self.store))
        routes = Routes(self.store, security, Admission(self.store, addresses), aggregation)
        self.server = ApiServer(routes.answer, self.identity, self.store.clock, self.identity.server_context())
        await self.server.start()
        self._stack.push_async_callback(self.server.stop)
        connector = aiohttp.TCPConnector(ssl=self.identity.client_context(ADMIN))
        self.session = aiohttp.ClientSession(self.server.url, connector=connector)
        await self._stack.enter_async_context(self.session)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()
