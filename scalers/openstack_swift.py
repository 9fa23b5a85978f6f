"""Scale on the objects in a container of OpenStack Swift."""

from datetime import timedelta
from typing import Annotated

from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import ScalerContext, named
from keda_py.sdk.metadata.values import read_int
from keda_py.sdk.scaler import AUTH, Activation, ConfigError, Reading, Scaler, ScalerError, Target, sources
from scalers.shared.http_answer import HttpQuestion, ask
from scalers.shared.openstack.keystone import Keystone, KeystoneGrant, KeystoneMetadata, check_keystone, keystone

_LONGEST = 300.0


class OpenstackSwiftMetadata(KeystoneMetadata):
    """Keys of `openstack-swift`."""

    swift_url: Annotated[str, named("swiftURL")] = ""
    container_name: str
    object_count: Annotated[int, Target()] = 2
    activation_object_count: Annotated[int, Activation()] = 0
    object_prefix: str = ""
    object_delimiter: str = ""
    object_limit: str = ""
    only_files: bool = False
    timeout: int = 30
    region_name: Annotated[str, sources(AUTH)] = ""


class OpenstackSwiftScaler(Scaler[OpenstackSwiftMetadata]):
    """Asks for the head of the container, which has the count."""

    _keystone: Keystone

    def __init__(self, metadata: OpenstackSwiftMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        check_keystone(metadata)
        if metadata.user_id and not metadata.project_id:
            raise ConfigError("projectID must be specified when using userID", field="projectID")

    @property
    def metric_name(self) -> str:
        """`openstack-swift-<containerName>`, with the prefix if there is one."""
        prefix = f"-{self.metadata.object_prefix}" if self.metadata.object_prefix else ""
        return f"openstack-swift-{self.metadata.container_name}{prefix}"

    @property
    def timeout(self) -> float:
        return min(float(self.metadata.timeout), _LONGEST) if self.metadata.timeout > 0 else self.context.http_timeout

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, the whole container is counted."""
        metadata = self.metadata
        given = {
            "objectPrefix": metadata.object_prefix,
            "objectDelimiter": metadata.object_delimiter,
            "objectLimit": metadata.object_limit,
            "onlyFiles": metadata.only_files,
        }
        return tuple(
            f"{key}: has no effect, all objects of the container count" for key, value in given.items() if value
        )

    async def open(self) -> None:
        """Share the token of this credential and request it, within the time-out of any other open."""
        self._keystone = await keystone(self.context, self.metadata, self.timeout)
        await self._keystone.granted(self.context.http_timeout)

    async def read(self) -> Reading:
        """The count now; a container that does not say one counts as 0, as in KEDA."""
        granted = await self._keystone.granted()
        container = path_segment("containerName", self.metadata.container_name)
        question = HttpQuestion(
            method="HEAD",
            url=f"{self._root(granted).rstrip('/')}/{container}",
            # After the answer to a HEAD, what Swift sends over the same connection is no HTTP.
            headers={"X-Auth-Token": granted.token.get_secret_value(), "Connection": "close"},
            timeout=timedelta(seconds=self.timeout),
        )
        answer = await ask(self.context, question)
        if answer.status_code == 401:
            self._keystone.refused(granted)
        if not answer.is_success:
            raise ScalerError(f"container {self.metadata.container_name}: status {answer.status_code}")
        count = answer.headers.get("X-Container-Object-Count", "")
        if not count:
            return Reading(value=0.0, note="no X-Container-Object-Count counts as 0")
        try:
            return Reading(value=float(read_int(count)))
        except ValueError:
            raise ScalerError("X-Container-Object-Count is not a whole number") from None

    def _root(self, granted: KeystoneGrant) -> str:
        """The address of the account. Raises ScalerError where the catalog has none."""
        if self.metadata.swift_url:
            return self.metadata.swift_url
        for region, url in granted.object_stores:
            if self.metadata.region_name in ("", region):
                return url
        where = f" in region {self.metadata.region_name}" if self.metadata.region_name else ""
        raise ScalerError(f"the catalog has no object store{where}: write swiftURL")
