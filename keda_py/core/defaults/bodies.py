"""Defaults among manifests, of files or of a cluster: for preview, validate, savings and the dashboard.

A body has its `kind`. Namespaces have the labels of their manifests; those without one have their name alone. The
defaults of the installation, which no object has, are among the bodies as one of a kind that no API server knows.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from keda_py.apis.environments.keda_defaults import ClusterKedaDefaults, KedaDefaults, KedaDefaultsSpec
from keda_py.apis.foreign import name_of, namespace_of, texts_at
from keda_py.apis.parsing import parse_object
from keda_py.core.defaults.building import build_defaults, build_layer
from keda_py.core.defaults.layers import INSTALLATION, DefaultsLayer, DefaultsSpec, Layers, layers_of
from keda_py.core.environment.namespaces.spec import NAME_LABEL
from keda_py.errors import ConfigError

OBJECTS = (KedaDefaults.__name__, ClusterKedaDefaults.__name__)
_INSTALLATION = "InstallationDefaults"
KINDS = (*OBJECTS, _INSTALLATION)


def installation_body(values: Mapping[str, Any]) -> dict[str, Any]:
    """Make the body of the defaults of an installation, which are the spec of a KedaDefaults."""
    meta = {"name": "defaults", "namespace": ""}
    return {"apiVersion": "keda-py.dev/installation", "kind": _INSTALLATION, "metadata": meta, "spec": dict(values)}


class DefaultsOfBodies:
    """Layers of namespaces among some manifests; `unread` are those that cannot be used, with the reason.

    A manifest without a namespace is taken to be in `default`; of two without a time the first is the older.
    """

    def __init__(self, bodies: Iterable[Mapping[str, Any]]) -> None:
        self._own: defaultdict[str, list[DefaultsSpec]] = defaultdict(list)
        self._cluster: list[DefaultsSpec] = []
        self._base: DefaultsLayer | None = None
        self._labels: dict[str, Mapping[str, str]] = {}
        self._layers: dict[str, Layers] = {}
        self.unread: list[tuple[Mapping[str, Any], ConfigError]] = []
        for body in bodies:
            if body["kind"] == "Namespace":
                self._labels[name_of(body)] = texts_at(body, "metadata", "labels")
            elif body["kind"] in KINDS:
                self._add(body)

    def _add(self, body: Mapping[str, Any]) -> None:
        try:
            if body["kind"] == _INSTALLATION:
                self._base = build_layer(
                    parse_object(KedaDefaultsSpec, body["spec"]), INSTALLATION, at="kedaDefaults.values"
                )
                return
            spec = build_defaults(body)
        except ConfigError as error:
            self.unread.append((body, error))
            return
        if body["kind"] == KedaDefaults.__name__:
            self._own[namespace_of(body) or "default"].append(spec)
        else:
            self._cluster.append(spec)

    def layers(self, namespace: str) -> Layers:
        """Return the layers of a namespace."""
        namespace = namespace or "default"
        found = self._layers.get(namespace)
        if found is None:
            labels = {NAME_LABEL: namespace, **self._labels.get(namespace, {})}
            found = layers_of(labels, self._own.get(namespace, ()), self._cluster, self._base)
            self._layers[namespace] = found
        return found
