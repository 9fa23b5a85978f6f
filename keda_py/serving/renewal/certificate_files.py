"""Certificates that another tool keeps, cert-manager for one: files, looked at every few seconds and reloaded.

A pair of which only one half has been replaced yet does not load: the old one is shown until the other half is there.
Mounted Secrets are replaced by a symlink; therefore contents are compared, not dates.
"""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from keda_py.errors import ConfigError
from keda_py.serving.certificates import ServingCertificate, pem, read_bundle
from keda_py.serving.server_tls import ServerTls

log = logging.getLogger(__name__)

CHECK_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificatePaths:
    """Where certificate, key and authority are; the authority may be absent."""

    certificate: Path
    key: Path
    ca: Path

    @classmethod
    def within(cls, folder: str) -> "CertificatePaths":
        """The names that a mounted Secret of type kubernetes.io/tls has."""
        return cls(certificate=Path(folder, "tls.crt"), key=Path(folder, "tls.key"), ca=Path(folder, "ca.crt"))

    def read(self) -> ServingCertificate | None:
        """What is there now; None while certificate or key are not."""
        try:
            certificate, key = self.certificate.read_bytes(), self.key.read_bytes()
        except OSError:
            return None
        chain = read_bundle(certificate)
        try:
            ca = self.ca.read_bytes()
        except OSError:  # the last of the chain is the best that is known
            ca = pem(chain[-1]) if chain else b""
        return ServingCertificate(ca=ca, certificate=certificate, key=key)


class FileCertificates:
    """Shows what the files hold."""

    def __init__(self, paths: CertificatePaths, tls: ServerTls) -> None:
        self._paths, self._tls = paths, tls
        self._seen: ServingCertificate | None = None

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(CHECK_SECONDS)

    def look(self) -> None:
        """Reload if the files have changed."""
        found = self._paths.read()
        if found is None or found == self._seen:
            return
        self._seen = found
        fields = {"file": str(self._paths.certificate)}
        try:
            self._tls.show(found)
        except ConfigError as error:
            log.warning("certificate files do not load", extra={**fields, "error": str(error)})
        else:
            log.info("serving with certificates", extra=fields)
