"""Lookup of one resolution of one trigger: reads objects and records them, so that their changes reach the trigger.

Made by `cluster_resolver.py`, passed to every provider. Namespace rules of the behaviour reference, section 11.2.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import httpx
from pydantic import SecretStr

from keda_py.auth.lookup.credential_cache import Issued
from keda_py.auth.lookup.dependencies import Dependencies, User
from keda_py.clock import Clock
from keda_py.core.spec import TriggersSpec
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.named_watches import NamedWatches, Reference
from keda_py.kube.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS, Obj, Resource
from keda_py.net.credential_keys import CredentialKey, Secret, What, credential_digest
from keda_py.net.operator_identity import Destination, IdentityRule
from keda_py.net.secret_texts import EMPTY, SecretData, Secrets, as_secrets
from keda_py.settings.settings import ScalingSettings

Troubles = Mapping[str, Mapping[str, str]]
"""Problems by a text that identifies them; each has a `message` and fields for the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverContext:
    """State shared by all resolutions of a process.

    `object_namespace` is where the credentials of ClusterTriggerAuthentications are. `http_timeout` is in seconds.
    `credentials` holds sessions and token sources, whose type their maker knows.
    """

    client: KubeClient
    watches: NamedWatches
    http: httpx.AsyncClient
    http_timeout: float
    clock: Clock
    object_namespace: str
    settings: ScalingSettings
    identities: IdentityRule
    tokens: Issued[tuple[SecretStr, datetime]]
    logins: Issued[SecretStr]
    certificates: Issued[SecretData]
    credentials: Issued[Any]


@dataclass(slots=True, kw_only=True)
class Lookup:
    """Reads for one trigger; `namespace` is where the Secrets and ConfigMaps of its authentication are.

    `cluster_wide`: the authentication is a ClusterTriggerAuthentication, written by the installation.
    """

    around: ResolverContext
    dependencies: Dependencies
    spec: TriggersSpec
    index: int
    namespace: str
    cluster_wide: bool = False
    found: set[Reference] = field(default_factory=set)
    valid_for: float = float("inf")
    troubles: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def user(self) -> User:
        return self.spec.key, self.index

    def key(self, what: What, *credential: Secret) -> CredentialKey:
        """Return the cache key for this credential's results: the trigger's tenant, not the credential's author's."""
        return CredentialKey(tenant=self.spec.namespace, credential=credential_digest(*credential), what=what)

    def check_identity(self, identity: str, to: Destination) -> None:
        """Check a use of the operator's own identity, before it is sent. Raises ConfigError."""
        self.around.identities.check(identity, replace(to, by_installation=self.cluster_wide))

    def note(self, reference: Reference) -> None:
        """Record that the result depends on this object."""
        # Noted before the read: if the object is missing or unreadable, its next change must reach this trigger.
        self.found.add(reference)
        self.dependencies.add(self.user, reference)

    def resolve_again_in(self, seconds: float) -> None:
        """Limit the validity of the result: something expires or could not be read."""
        self.valid_for = min(self.valid_for, seconds)

    async def read(self, resource: Resource, namespace: str, name: str) -> Obj | None:
        """Read an object by name, None if it does not exist. Raises KubeError if that is unknown."""
        reference = Reference(resource, namespace, name)
        self.note(reference)
        return await self.around.watches.read(reference)

    async def secret(self, name: str, namespace: str | None = None) -> Secrets | None:
        """Return the texts of a Secret, None if it does not exist.

        Under KEDA_RESTRICT_SECRET_ACCESS the operator's namespace is read and `namespace` is ignored.
        """
        wanted = self.namespace if namespace is None else namespace
        if self.around.settings.restrict_secret_access:
            wanted = self.around.object_namespace
        live = await self.read(SECRETS, wanted, name)
        return None if live is None else {key: _decode(text) for key, text in (live.get("data") or {}).items()}

    async def config_map(self, name: str, namespace: str | None = None) -> Secrets | None:
        """Return the texts of a ConfigMap, None if it does not exist; wrapped, as some users keep secrets there."""
        live = await self.read(CONFIG_MAPS, self.namespace if namespace is None else namespace, name)
        return None if live is None else as_secrets(live.get("data") or {})

    async def service_account(self, name: str) -> Obj | None:
        """Read a ServiceAccount of the ScaledObject's namespace."""
        return await self.read(SERVICE_ACCOUNTS, self.spec.namespace, name)

    def note_missing(self, kind: str, name: str, key: str = "") -> None:
        """Record that a source is missing; the parameter is then an empty text, as in KEDA."""
        self.note_trouble("source of a parameter is missing", kind=kind, source=name, key=key)

    def note_trouble(self, message: str, **about: str) -> None:
        """Note a problem for `explain`, and once for the log: failing triggers are resolved at every poll."""
        self.troubles[f"{message} {sorted(about.items())}"] = {"message": message, **about}


def tell_trouble(about: Mapping[str, str]) -> str:
    """Write a recorded problem as a sentence."""
    if "error" in about:
        return f"{about['message']}: {about['source']}: {about['error']}"
    key = f' has no "{about["key"]}"' if about.get("key") else " is missing"
    reader = f", which {about['reader']} names" if about.get("reader") else ""
    kind = about["kind"].removeprefix("key of ").removeprefix("a ").removeprefix("an ")
    return f'{kind} "{about["source"]}"{key}{reader}; what is read from it is empty until it is there'


def _decode(text: str) -> SecretStr:
    try:
        return SecretStr(base64.b64decode(text).decode(errors="replace"))
    except (binascii.Error, ValueError):
        return EMPTY
