"""Authorities that the cluster trusts for callers: kube-system/extension-apiserver-authentication.

The ConfigMap is watched by name, as the role extension-apiserver-authentication-reader allows, together with
--client-ca-file; each change takes effect at the next request. An unreadable one leaves the last good one in force.
"""

import asyncio
import logging
from pathlib import Path

from keda_py.errors import ConfigError
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import CONFIG_MAPS, Obj, Selection
from keda_py.serving.client_trust import ClientTrust, TrustSpec, read_trust
from keda_py.serving.server_tls import ServerTls

log = logging.getLogger(__name__)

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
CHECK_SECONDS = 5.0


class AuthenticationConfig:
    """Follows the ConfigMap and the file. `trust` is the current state; before the first read it trusts none."""

    def __init__(self, client: KubeClient, tls: ServerTls, client_ca_file: str = "") -> None:
        self._tls, self._file = tls, Path(client_ca_file) if client_ca_file else None
        self._informer = Informer(
            client,
            InformerSpec(
                resource=CONFIG_MAPS, namespaces=(NAMESPACE,), selection=Selection(fields=f"metadata.name={NAME}")
            ),
        )
        self._informer.subscribe(self._on_change)
        self._client_ca = ""
        self.trust = ClientTrust(TrustSpec())

    @property
    def has_synced(self) -> bool:
        """Return whether the ConfigMap has been looked for; it may be absent."""
        return self._informer.synced

    async def run(self) -> None:
        """Follow ConfigMap and file until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._informer.run())
            while self._file is not None:
                self._look(self._file)
                await asyncio.sleep(CHECK_SECONDS)

    def _on_change(self, old: Obj | None, new: Obj | None) -> None:
        if new is not None:  # the API server recreates a deleted ConfigMap at its next start
            self._read(new)

    def _look(self, file: Path) -> None:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            log.warning("client CA file cannot be read", extra={"file": str(file), "error": str(error)})
            return
        if text != self._client_ca:
            self._client_ca = text
            self._read(self._informer.get(NAMESPACE, NAME) or {})

    def _read(self, config_map: Obj) -> None:
        try:
            spec = read_trust(config_map.get("data") or {}, self._client_ca)
            if spec == self.trust.spec:
                return
            # The handshake first: if OpenSSL cannot load the authorities, the evaluation below must keep the old ones
            # too.
            self._tls.trust(spec.authorities)
        except ConfigError as error:
            fields = {"configmap": f"{NAMESPACE}/{NAME}", "error": str(error)}
            log.error("client authorities are not usable; the last good ones stay in force", extra=fields)
        else:
            self.trust = ClientTrust(spec)
            log.info("client authorities read", extra={"authorities": len(spec.authorities)})
