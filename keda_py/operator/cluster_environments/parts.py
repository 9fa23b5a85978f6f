"""Assembly of ClusterEnvironments; not assembled without `--cluster-environments`."""

from keda_py.operator.cluster_environments.kind import ClusterEnvironments
from keda_py.operator.controller.component import Component
from keda_py.operator.controller.controller import Controller
from keda_py.operator.environments.parts import EnvironmentParts
from keda_py.operator.sharding.tenures import Tenures
from keda_py.settings.settings import Settings
from keda_py.settings.surroundings import service_account_namespace

WORKERS = 1


def assemble_cluster_environments(
    environments: EnvironmentParts, settings: Settings, tenures: Tenures
) -> tuple[Component, ...]:
    """Assemble the controller, which only the leader runs; the order is known to every replica."""
    policies = environments.policies
    if policies is None:
        return ()
    own = service_account_namespace() or settings.cluster.pod_namespace
    kind = ClusterEnvironments(environments.dependencies, policies, own)
    controller = Controller(environments.dependencies.shared, kind, WORKERS, tenures)
    policies.on_turn(environments.environments.on_turn)
    return (Component(background=(policies.run,), prepare=(policies.tried,), lead=(controller.run,)),)
