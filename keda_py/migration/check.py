"""The whole check: an installation -> findings, the worst first."""

from collections.abc import Iterator

from keda_py.migration.cluster import check_cluster
from keda_py.migration.deployments import ReadFlags, check_deployments
from keda_py.migration.downscaler import check_downscaler
from keda_py.migration.findings import Finding, Severity
from keda_py.migration.identities import check_identities
from keda_py.migration.installation import Installation
from keda_py.migration.native_hpas import check_native_hpas
from keda_py.migration.objects import check_objects
from keda_py.migration.time_limits import check_time_limits
from keda_py.sdk.building_context import context_to_build_in
from keda_py.sdk.context import SharedContext

_ORDER = tuple(Severity)


async def check_migration(installation: Installation, read_flags: ReadFlags) -> tuple[Finding, ...]:
    """Collect all findings about the move. Opens no connection."""
    found = list(_all(installation, read_flags, context_to_build_in()))
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


def _all(installation: Installation, read_flags: ReadFlags, shared: SharedContext) -> Iterator[Finding]:
    yield from check_cluster(installation)
    yield from check_deployments(installation, read_flags)
    yield from check_objects(installation, shared)
    yield from check_identities(installation)
    yield from check_time_limits(installation)
    yield from check_downscaler(installation)
    yield from check_native_hpas(installation)
