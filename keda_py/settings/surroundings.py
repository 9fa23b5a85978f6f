"""Settings inherited from other variables, and from the pod that the process runs in."""

from collections.abc import Mapping
from pathlib import Path

_SERVICE_ACCOUNT_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def with_service_tls(env: Mapping[str, str]) -> Mapping[str, str]:
    """Let KEDA_SERVICE_* that are not set follow KEDA_HTTP_*; set but empty they mean TLS13 and the default ciphers."""
    inherited = {
        "KEDA_SERVICE_MIN_TLS_VERSION": env.get("KEDA_HTTP_MIN_TLS_VERSION") or "TLS12",
        "KEDA_SERVICE_TLS_CIPHER_LIST": env.get("KEDA_HTTP_TLS_CIPHER_LIST", ""),
    }
    return inherited | dict(env)


def service_account_namespace() -> str:
    """Return the namespace of our pod; "" outside of one."""
    try:
        return _SERVICE_ACCOUNT_NAMESPACE.read_text(encoding="utf-8").strip()
    except OSError:  # not in a pod
        return ""
