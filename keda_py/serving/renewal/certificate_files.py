"""Certificate files that another tool keeps, such as cert-manager: checked every few seconds and reloaded.

If only one half of a pair has been replaced, the pair does not load, and the old one stays until the other half
arrives. Mounted Secrets are replaced by a symlink; therefore contents are compared, not dates.
"""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from keda_py.errors import ConfigError
from keda_py.serving.certificates import pem, read_bundle
from keda_py.serving.server_tls import ServerTls
from keda_py.serving.serving_certificate import ServingCertificate

log = logging.getLogger(__name__)

CHECK_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificatePaths:
    """Paths of certificate, key and CA; the CA may be absent."""

    certificate: Path
    key: Path
    ca: Path

    @classmethod
    def within(cls, folder: str) -> "CertificatePaths":
        """Return the paths in a mounted Secret of type kubernetes.io/tls."""
        return cls(certificate=Path(folder, "tls.crt"), key=Path(folder, "tls.key"), ca=Path(folder, "ca.crt"))

    def read(self) -> ServingCertificate | None:
        """Read the files; None if certificate or key is missing."""
        try:
            certificate, key = self.certificate.read_bytes(), self.key.read_bytes()
        except OSError:
            return None
        chain = read_bundle(certificate)
        try:
            ca = self.ca.read_bytes()
        except OSError:  # without ca.crt the last certificate of the chain is the nearest to the root
            ca = pem(chain[-1]) if chain else b""
        return ServingCertificate(ca=ca, certificate=certificate, key=key)


class FileCertificates:
    """Serves the certificate that the files hold."""

    def __init__(self, paths: CertificatePaths, tls: ServerTls) -> None:
        self._paths, self._tls = paths, tls
        self._seen: ServingCertificate | None = None

    async def run(self) -> None:
        """Check the files until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(CHECK_SECONDS)

    def look(self) -> None:
        """Reload the files if they have changed."""
        found = self._paths.read()
        if found is None or found == self._seen:
            return
        # Set even if loading fails below, so that one broken pair is reported once and not every CHECK_SECONDS.
        self._seen = found
        fields = {"file": str(self._paths.certificate)}
        try:
            self._tls.show(found)
        except ConfigError as error:
            log.warning("certificate files do not load", extra={**fields, "error": str(error)})
        else:
            log.info("serving with certificates", extra=fields)
