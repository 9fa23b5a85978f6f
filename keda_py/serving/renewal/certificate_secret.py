"""Certificates of `--enable-cert-rotation`: kept in a Secret that all replicas share, and renewed by them.

The first replica creates the Secret, the others adopt it. Every write carries the resourceVersion that was read, so no
replica overwrites what it has not seen. `rotation.py` decides what the Secret should hold. It is checked every 12 h, at
each change, and each minute while the watch is down. TLS dates are real time. Behaviour reference, section 13.4.
"""

import asyncio
import base64
import binascii
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from keda_py.clock import Clock
from keda_py.errors import ConfigError, Conflict, KubeError, NotFound
from keda_py.kube.backoff import Backoff
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec, only
from keda_py.kube.resources import SECRETS, Obj, ObjectPath, Selection
from keda_py.serving.renewal.rotation import is_usable, settle
from keda_py.serving.server_tls import ServerTls
from keda_py.serving.serving_certificate import ServingCertificate

log = logging.getLogger(__name__)

CHECK_SECONDS = 12 * 3600.0
UNWATCHED_SECONDS = 60.0
ATTEMPTS = 10
_KEYS = {"ca.crt": "ca", "ca.key": "ca_key", "tls.crt": "certificate", "tls.key": "key"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSpec:
    """Name of the Secret, and the host names that its certificate is for."""

    namespace: str
    name: str
    hosts: tuple[str, ...]

    @property
    def path(self) -> ObjectPath:
        return SECRETS.named(self.namespace, self.name)


class SecretCertificates:
    """Keeps the Secret up to date and serves its certificate. `clock` is real time."""

    def __init__(self, client: KubeClient, spec: SecretSpec, tls: ServerTls, clock: Clock) -> None:
        self._client, self._spec, self._tls, self._clock = client, spec, tls, clock
        selection = Selection(fields=f"metadata.name={spec.name}")
        watched = InformerSpec(resource=SECRETS, namespaces=(spec.namespace,), selection=selection, transform=only())
        self._informer = Informer(client, watched)
        self._changed = asyncio.Event()
        self._informer.subscribe(lambda old, new: self._changed.set())

    async def run(self) -> None:
        """Watch and renew until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._informer.run())
            tasks.create_task(self._keep())

    async def _keep(self) -> None:
        backoff, failing = Backoff(), False
        while True:
            self._changed.clear()
            try:
                await self._look()
                backoff.reset()
                wait, failing = self._until_next_look(), False
            except (KubeError, ConfigError) as error:
                fields = {"secret": f"{self._spec.namespace}/{self._spec.name}", "error": str(error)}
                log.log(logging.DEBUG if failing else logging.WARNING, "cannot keep certificates", extra=fields)
                wait, failing = backoff.next(), True
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._changed.wait()

    def _until_next_look(self) -> float:
        return CHECK_SECONDS if self._informer.synced and not self._informer.error else UNWATCHED_SECONDS

    async def _look(self) -> None:
        """Read the Secret, write it until it is as it should be, and serve with it. Raises KubeError."""
        for _ in range(ATTEMPTS):
            live = await self._read()
            kept = _certificate_of(live) if live is not None else None
            wanted = self._desired(kept)
            # Served only once it is stored: two replicas that start together would otherwise serve by two authorities.
            if wanted == kept:
                return self._show(wanted)
            with contextlib.suppress(Conflict):  # another replica was faster: read what it wrote
                await self._write(live, wanted)
        raise Conflict(f"secret {self._spec.name} changed {ATTEMPTS} times while it was written", status=409)

    def _desired(self, kept: ServingCertificate | None) -> ServingCertificate:
        """Return what the Secret should hold; a lost or damaged one is restored from memory: clients keep their CA."""
        now = self._clock.now()
        # A lost Secret is restored from memory: with a new authority every client would have to learn a new CA at once.
        base = kept if kept is not None and is_usable(kept, now) else self._tls.certificate
        return settle(base, self._spec.hosts, now)

    async def _read(self) -> Obj | None:
        try:
            return await self._client.get(self._spec.path)
        except NotFound:
            return None

    async def _write(self, live: Obj | None, wanted: ServingCertificate) -> None:
        data = {key: _encode(getattr(wanted, field)) for key, field in _KEYS.items()}
        if live is None:
            meta = {"namespace": self._spec.namespace, "name": self._spec.name}
            body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque", "data": data}
            await self._client.create(SECRETS, body)
        else:
            await self._client.update(self._spec.path, {**live, "data": {**(live.get("data") or {}), **data}})
        log.info("wrote certificates", extra={"secret": f"{self._spec.namespace}/{self._spec.name}"})

    def _show(self, certificate: ServingCertificate) -> None:
        if certificate != self._tls.certificate:
            self._tls.show(certificate)
            log.info("serving with certificates", extra={"secret": f"{self._spec.namespace}/{self._spec.name}"})


def service_hosts(services: Sequence[str], namespace: str, domain: str) -> tuple[str, ...]:
    """Return the names under which Services are reached."""
    ends = ("", f".{namespace}", f".{namespace}.svc", f".{namespace}.svc.{domain}")
    return tuple(f"{service}{end}" for service in services for end in ends)


def _certificate_of(live: Obj) -> ServingCertificate | None:
    """Return the Secret's content; None if a key is missing or is not base64."""
    data = live.get("data") or {}
    try:
        fields = {field: base64.b64decode(data[key], validate=True) for key, field in _KEYS.items()}
    except (KeyError, TypeError, ValueError, binascii.Error):
        return None
    return ServingCertificate(**fields)


def _encode(text: bytes) -> str:
    return base64.b64encode(text).decode()
