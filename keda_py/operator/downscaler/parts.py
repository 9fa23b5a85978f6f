"""Assembly of the downscaler; not assembled if `--downscaler-annotations` is off.

`operator/assembly.py` comes here; `app.py` runs it beside the environments.
"""

from collections.abc import Callable
from dataclasses import dataclass

from keda_py.core.environment.downscaler.decision import DownscalerSettings
from keda_py.operator.controller.component import Component
from keda_py.operator.downscaler.caches import DownscalerCaches
from keda_py.operator.downscaler.dependencies import DownscalerDependencies
from keda_py.operator.downscaler.objects import DOWNSCALED_BY_KIND
from keda_py.operator.downscaler.sweep import Sweep
from keda_py.operator.environments.overlays import Overlays
from keda_py.operator.environments.parts import EnvironmentParts
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.settings.settings import Settings

# Excluded namespaces, beside our own: an operator that puts itself to sleep wakes nothing.
NEVER_DOWN = ("kube-system",)


@dataclass(frozen=True, slots=True, kw_only=True)
class DownscalerParts:
    """The parts of the downscaler that `operator/assembly.py` uses."""

    caches: DownscalerCaches
    sweep: Sweep

    @property
    def component(self) -> Component:
        """The tasks to run, and when."""
        asked_again = (self.sweep.on_clock_step,)
        return Component(
            background=(self.caches.run,),
            prepare=(self.sweep.restore,),
            follow=(self.sweep.run,),
            on_clock_step=asked_again,
            on_lead=asked_again,
            on_share=asked_again,
        )


def assemble_downscaler(
    objects: ScaledObjectDependencies,
    settings: Settings,
    environments: EnvironmentParts,
    overlays: Overlays,
    leads: Callable[[], bool],
) -> DownscalerParts | None:
    """Assemble the parts; nothing runs yet. `overlays` are a layer of the specs, below those of Environments."""
    wanted = settings.environments
    if not wanted.downscaler_annotations:
        return None
    caches = DownscalerCaches(objects.shared.client, settings.cluster.watch_namespaces, wanted.downscaler_resources)
    parts = DownscalerDependencies(
        shared=objects.shared,
        caches=caches,
        cluster=objects.caches,
        owners=environments.dependencies.owners,
        overriding=environments.dependencies.overriding,
        overlays=overlays,
        settings=DownscalerSettings(exclude_namespaces=(*NEVER_DOWN, settings.cluster.pod_namespace)),
        includes_scaled_objects="scaledobjects" in wanted.downscaler_resources,
        acts=leads,
    )
    sweep = Sweep(parts)
    environments.override_kind.allow(sweep.remembers)
    for kind in DOWNSCALED_BY_KIND:
        objects.shared.activations.subscribe(kind, sweep.on_turn)
    return DownscalerParts(caches=caches, sweep=sweep)
