"""What settings inherit from their surroundings: from each other's variables, and from the pod that we run in."""

from collections.abc import Mapping
from pathlib import Path

_SERVICE_ACCOUNT_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def with_service_tls(env: Mapping[str, str]) -> Mapping[str, str]:
    """KEDA_SERVICE_* not set at all are as KEDA_HTTP_*; set but empty they are TLS13 and the default ciphers."""
    inherited = {
        "KEDA_SERVICE_MIN_TLS_VERSION": env.get("KEDA_HTTP_MIN_TLS_VERSION") or "TLS12",
        "KEDA_SERVICE_TLS_CIPHER_LIST": env.get("KEDA_HTTP_TLS_CIPHER_LIST", ""),
    }
    return inherited | dict(env)


def service_account_namespace() -> str:
    """The namespace of the pod that we run in; "" outside of one."""
    try:
        return _SERVICE_ACCOUNT_NAMESPACE.read_text(encoding="utf-8").strip()
    except OSError:  # not in a pod
        return ""
