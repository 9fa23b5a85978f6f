"""Sharing external.metrics.k8s.io with another adapter: which names are ours, and how the other one is asked.

Put together by `assembly.py` where `--external-metrics-upstream` is given; `external_metrics/upstream.py` asks. Rule: a
name that a ScaledObject serves, or may serve while the cache cannot tell, never leaves.
"""

import asyncio
import logging
import ssl
from collections.abc import Sequence
from pathlib import Path

from keda_py.core.metric_names import COMPOSITE_METRIC
from keda_py.errors import ConfigError
from keda_py.external_metrics.upstream import Delegation, Peer, Upstream
from keda_py.kube.client import KubeClient
from keda_py.net.tls import TlsContexts, TlsSettings
from keda_py.operator.cluster.caches import BLIND_SECONDS, BY_METRIC, Caches, metric_key
from keda_py.serving.statuses import unavailable
from keda_py.settings.settings import Settings

log = logging.getLogger(__name__)

CHECK_SECONDS = 10.0
_MOUNTED = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_CLUSTER_CAS = (str(_MOUNTED / "ca.crt"), str(_MOUNTED / "service-ca.crt"))
"""The cluster's authority, and the one that signs Services' certificates where there is one (OpenShift)."""


def share_metrics(settings: Settings, client: KubeClient, caches: Caches, tls: TlsContexts) -> Delegation | None:
    """What the settings say; None where the API is ours alone."""
    serving = settings.serving
    if not serving.upstream:
        return None
    trust = UpstreamTrust(tls, serving.upstream_ca_file)
    peer = Peer(
        url=serving.upstream,
        authorization=client.authorization,
        trust=trust.context,
        seconds=settings.http.timeout.total_seconds(),
    )
    return Delegation(upstream=Upstream(peer), owns=OwnMetrics(caches).owns)


class OwnMetrics:
    """The external metrics of all ScaledObjects that this operator looks after."""

    def __init__(self, caches: Caches) -> None:
        self._scaled_objects = caches.scaled_objects

    def owns(self, namespace: str, metric: str) -> bool:
        """Whether a ScaledObject of the namespace serves it; "*" is any. Raises StatusError 503 while unknown."""
        if metric == "*":
            return True
        if self._scaled_objects.by_index(BY_METRIC, metric_key(namespace, metric)):
            return True
        known = self._scaled_objects.synced and self._scaled_objects.down_for() < BLIND_SECONDS
        # While the cache is blind only names of our form wait: another adapter's metrics must not fail with our watch.
        if not known and _has_our_form(metric):
            raise unavailable(f"whether {metric} is a metric of keda-py's is not known yet: its cache has not synced")
        return False


def _has_our_form(metric: str) -> bool:
    """`s0-...` or `composite-metric`. Others use such names, too: "s3-bucket-size"."""
    prefix = metric.lower().partition("-")[0]
    return metric.lower() == COMPOSITE_METRIC or (prefix[:1] == "s" and prefix[1:].isdecimal())


class UpstreamTrust:
    """TLS towards the upstream: authorities from files that may be replaced while we run.

    `ca_file` "" stands for the cluster's authorities, where they are mounted.
    """

    def __init__(self, contexts: TlsContexts, ca_file: str = "") -> None:
        self._contexts, self._ca_file = contexts, ca_file
        self._checked = float("-inf")
        self._context: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext:
        """What holds now. Raises ConfigError while the file has never been readable; later the last good one stays."""
        now = asyncio.get_running_loop().time()
        if self._context is not None and now - self._checked < CHECK_SECONDS:
            return self._context
        self._checked = now
        try:
            self._context = self._contexts.get(TlsSettings(ca=self._read()), "")  # an equal text is an equal context
        except ConfigError as error:
            if self._context is None:
                raise
            log.warning("CA of the upstream not reloaded, the old one stays", extra={"error": str(error)})
        return self._context

    def _read(self) -> str:
        if self._ca_file:
            return _text(self._ca_file)
        return "\n".join(_texts(_CLUSTER_CAS))


def _texts(files: Sequence[str]) -> list[str]:
    return [_text(file) for file in files if Path(file).is_file()]


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"--external-metrics-upstream-ca-file: {file} cannot be read: {error}") from None
