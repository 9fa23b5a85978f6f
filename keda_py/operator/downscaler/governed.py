"""Which objects are an Environment's: their annotations are left alone, so that no two rules fight."""

from collections.abc import Iterator, Mapping

from keda_py.apis.environments.environment import Environment
from keda_py.apis.parsing import parse_object
from keda_py.core.environment.spec import EnvironmentSpec, build_environment, owner_of
from keda_py.errors import ConfigError
from keda_py.kube.informers.informer import Informer


class Governed:
    """Asks the cache of Environments; each is read once a generation."""

    def __init__(self, environments: Informer) -> None:
        self._live = environments
        self._known: dict[str, tuple[object, EnvironmentSpec | None]] = {}

    def by(self, namespace: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
        """The name of the Environment that has such an object; "" for none."""
        owner = owner_of(list(self._of(namespace)), labels, annotations)
        return "" if owner is None else owner.name

    def _of(self, namespace: str) -> Iterator[EnvironmentSpec]:
        for live in self._live.objects(namespace):
            meta = live["metadata"]
            known = self._known.get(meta["uid"])
            if known is None or known[0] != meta.get("generation"):
                try:
                    known = (meta.get("generation"), build_environment(parse_object(Environment, live)))
                except ConfigError:
                    known = (meta.get("generation"), None)
                self._known[meta["uid"]] = known
            if known[1] is not None:
                yield known[1]

    def forget(self) -> None:
        """What is known of Environments that are gone."""
        there = {live["metadata"]["uid"] for live in self._live.objects()}
        self._known = {uid: one for uid, one in self._known.items() if uid in there}
