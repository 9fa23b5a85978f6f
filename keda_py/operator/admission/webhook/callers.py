"""Callers of the webhook: anybody, or those with a certificate by the CA of --webhook-client-ca-file.

The handshake refuses all others, so that nothing of theirs is read; --webhook-client-names is looked at with each
request, and so are dates, because a connection may be open for longer than a certificate is good.
"""

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from keda_py.clock import SystemClock
from keda_py.errors import ConfigError
from keda_py.serving.server_tls import ServerTls

if TYPE_CHECKING:
    from keda_py.serving.client_trust import ClientTrust

log = logging.getLogger(__name__)

CHECK_SECONDS = 5.0


class Callers:
    """`ca_file` "" lets anybody call; names "" any certificate by that CA."""

    def __init__(self, tls: ServerTls, ca_file: str, names: tuple[str, ...]) -> None:
        self._tls, self._file, self._names = tls, Path(ca_file) if ca_file else None, frozenset(names)
        self._text, self._reported = "", False
        self._trust: ClientTrust | None = None
        self._clock = SystemClock()

    @property
    def must_show(self) -> bool:
        """Whether a certificate is asked for."""
        return self._file is not None

    def admits(self, certificate: bytes | None) -> bool:
        """Whether a caller with this certificate (DER) may ask."""
        if self._file is None:
            return True
        if self._trust is None or certificate is None:
            return False
        found = self._trust.certified(certificate, self._clock.now())
        if found is None or found.client is None:
            return False
        return not self._names or found.client.name in self._names

    async def run(self) -> None:
        """Follow the file, until cancelled."""
        while self._file is not None:
            self.look(self._file)
            await asyncio.sleep(CHECK_SECONDS)

    def look(self, file: Path) -> None:
        """Until it can be read no client may call; what is not a CA leaves the last good one in force."""
        try:
            text = file.read_text(encoding="utf-8")
            if text == self._text:
                return
            self._tls.trust((text,))
        except (OSError, ValueError, ConfigError) as error:
            if not self._reported:
                log.warning("webhook client CA file is not usable", extra={"file": str(file), "error": str(error)})
            self._reported = True
            return
        from keda_py.serving.client_trust import ClientTrust, TrustSpec  # heavy, and most callers show no certificate

        self._text, self._reported, self._trust = text, False, ClientTrust(TrustSpec(client_cas=(text,)))
        log.info("webhook client CA read", extra={"file": str(file)})
