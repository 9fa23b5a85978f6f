"""Controllers of both kinds: they write whether an object can be used, and which others come before it."""

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta

from keda_py.apis.foreign import namespace_of
from keda_py.apis.wire import Condition
from keda_py.core.defaults.building import build_defaults
from keda_py.core.defaults.layers import DefaultsSpec, overlaps_of
from keda_py.errors import ConfigError
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import Obj
from keda_py.operator.controller.component import Component
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.kind import LookOnlyKind, LookOnlyMemory
from keda_py.operator.controller.status import StatusWriter
from keda_py.operator.defaults.known import MOST_OBJECTS, KnownDefaults
from keda_py.operator.sharding.tenures import Tenures

WORKERS = 1
_MOST_NAMED = 5


class DefaultsObjects(LookOnlyKind[LookOnlyMemory]):
    """The kind for `Controller`; `live` has the objects of either kind."""

    new, longest_retry = LookOnlyMemory, timedelta(hours=1)

    def __init__(self, status: StatusWriter, known: KnownDefaults, live: Informer) -> None:
        self._status, self._known, self.live = status, known, live

    async def look(self, state: LookOnlyMemory) -> None:
        """Write the conditions; it is due again when an object of the kind changes. Raises KubeError."""
        state.due.look_at(float("inf"))
        live = self.live.get(state.key.namespace, state.key.name)
        if live is not None:
            conditions = [one.model_dump(exclude_defaults=True) for one in self._conditions(live)]
            await self._status.write(state, {"conditions": conditions})

    def _conditions(self, live: Obj) -> Iterator[Condition]:
        try:
            spec = build_defaults({**live, "kind": self.live.spec.resource.kind})
        except ConfigError as error:
            text = f"{error}; until then it stays in force as it was last valid"
            yield Condition(type="Valid", status="False", reason="SpecInvalid", message=text)
            return
        others = list(self._others(namespace_of(live)))
        if spec.uid not in {one.uid for one in others}:
            text = f"only the {MOST_OBJECTS} oldest of a kind are in force in a place; delete others, or join them"
            yield Condition(type="Valid", status="False", reason="TooMany", message=text)
            return
        yield Condition(type="Valid", status="True", reason="Valid")
        if before := list(overlaps_of(spec, others)):
            more = f" and {len(before) - _MOST_NAMED} more" if len(before) > _MOST_NAMED else ""
            text = (
                f"where they select a namespace too, {', '.join(before[:_MOST_NAMED])}{more} come first: one with a "
                "selector before one without, then the older; this one gives the fields that they leave out"
            )
            yield Condition(type="Overlap", status="True", reason="OthersComeFirst", message=text)

    def _others(self, namespace: str) -> Iterator[DefaultsSpec]:
        try:
            yield from self._known.specs_of(self.live, namespace)
        except ConfigError:
            return  # that object says so itself

    def watches(self, controller: Controller[LookOnlyMemory]) -> Iterable[Callable[[], None]]:
        """Subscribe to the other objects of the same place."""

        def on_change(old: Obj | None, new: Obj | None) -> None:
            if old is not None and new is not None and old.get("spec") == new.get("spec"):
                return
            where = namespace_of(new or old or {})
            for state in controller.states.values():
                if state.spec is not None and state.key.namespace == where:
                    state.due.look_now()
                    controller.queue.add(state.key)

        yield self.live.follow(on_change)


def assemble_defaults(shared: Dependencies, known: KnownDefaults, tenures: Tenures) -> Component:
    """Put caches and controllers together; only the leader writes statuses. Nothing runs yet."""
    if not known.watches:
        return Component()
    kinds = (DefaultsObjects(shared.status, known, live) for live in (known.own, known.cluster))
    controllers = tuple(Controller(shared, kind, WORKERS, tenures) for kind in kinds)
    return Component(background=(known.run,), lead=tuple(controller.run for controller in controllers))
