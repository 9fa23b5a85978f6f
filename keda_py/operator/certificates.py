"""The certificates that this process serves with, and the objects of the cluster that name their authority.

Kept in a Secret and renewed (--enable-cert-rotation), or files that another tool keeps, or one made at start. Wiring
of `keda_py/serving` from settings. Behaviour reference, section 13.4.
"""

from base64 import b64encode
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from keda_py.clock import SystemClock
from keda_py.errors import ConfigError
from keda_py.external_metrics.discovery import APIS
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import API_SERVICES, VALIDATING_WEBHOOK_CONFIGURATIONS, Obj
from keda_py.operator.registration import Registration
from keda_py.serving.certificates import make_certificate
from keda_py.serving.renewal.ca_bundles import CaBundleObject
from keda_py.serving.renewal.certificate_files import CertificatePaths, FileCertificates
from keda_py.serving.renewal.certificate_secret import SecretCertificates, SecretSpec, service_hosts
from keda_py.serving.server_tls import ServerTls
from keda_py.settings.settings import CertificateSettings, Settings


def keep_certificates(settings: Settings, client: KubeClient, tls: ServerTls) -> Callable[[], Awaitable[None]]:
    """Show what there is already; what is returned keeps it up to date until cancelled."""
    # TLS dates are real time, whatever the clock of decisions says.
    clock, certificates = SystemClock(), settings.certificates
    hosts = _hosts(settings)
    if certificates.rotate:
        spec = SecretSpec(namespace=settings.cluster.pod_namespace, name=certificates.secret_name, hosts=hosts)
        return SecretCertificates(client, spec, tls, clock).run
    paths = _paths(certificates)
    files = FileCertificates(paths, tls)
    files.look()
    if paths.read() is None and not certificates.tls_cert_file:
        tls.show(make_certificate((*hosts, "localhost", "127.0.0.1"), clock.now()))
    return files.run


def peer_name(settings: Settings) -> str:
    """The name that every replica's certificate has, and by which they know each other."""
    return f"{settings.certificates.operator_service}.{settings.cluster.pod_namespace}.svc"


def guarded_objects(settings: Settings, registration: Registration | None = None) -> tuple[CaBundleObject, ...]:
    """The objects whose caBundle we keep correct: what we registered, else those of --enable-cert-rotation."""
    certificates = settings.certificates
    switches = {
        API_SERVICES: certificates.patch_apiservice,
        VALIDATING_WEBHOOK_CONFIGURATIONS: certificates.patch_webhook,
    }
    switched_off = {resource for resource, on in switches.items() if not on}
    if registration is not None:
        return registration.guarded(switched_off)
    if not certificates.rotate:
        return ()
    service = (settings.cluster.pod_namespace, certificates.metrics_service)
    correct = partial(correct_api_service, service)
    api_services = [CaBundleObject(resource=API_SERVICES, name=api.service_name, correct=correct) for api in APIS]
    webhooks = CaBundleObject(
        resource=VALIDATING_WEBHOOK_CONFIGURATIONS, name=certificates.webhook_name, correct=correct_webhooks
    )
    return tuple(one for one in (*api_services, webhooks) if one.resource not in switched_off)


def correct_api_service(service: tuple[str, str], live: Obj | None, ca: bytes) -> Obj | None:
    """With our CA, if it leads to our Service. Raises ConfigError for another adapter's, which is left alone."""
    if live is None:
        return None
    spec = live["spec"]
    backend = spec.get("service") or {}
    if (backend.get("namespace"), backend.get("name")) != service:
        found, own = f"{backend.get('namespace')}/{backend.get('name')}", "/".join(service)
        message = f"spec.service is {found}: {spec.get('group')} is served by another Service; set it to {own}"
        raise ConfigError(message, field="spec.service")
    bundle = b64encode(ca).decode()
    if spec.get("caBundle") == bundle and not spec.get("insecureSkipTLSVerify"):
        return None
    kept = {name: value for name, value in spec.items() if name != "insecureSkipTLSVerify"}
    return {**live, "spec": {**kept, "caBundle": bundle}}


def correct_webhooks(live: Obj | None, ca: bytes) -> Obj | None:
    """With our CA in every webhook."""
    bundle = b64encode(ca).decode()
    webhooks: list[Obj] = (live or {}).get("webhooks") or []
    if live is None or all(webhook["clientConfig"].get("caBundle") == bundle for webhook in webhooks):
        return None
    return {
        **live,
        "webhooks": [{**one, "clientConfig": {**one["clientConfig"], "caBundle": bundle}} for one in webhooks],
    }


def _hosts(settings: Settings) -> tuple[str, ...]:
    """All names under which this process is reached; the webhook's only if the API server is told to call it."""
    certificates = settings.certificates
    services = [certificates.operator_service, certificates.metrics_service]
    if certificates.patch_webhook:
        services.append(certificates.webhook_service)
    host = urlsplit(settings.serving.register).hostname
    names = service_hosts(services, settings.cluster.pod_namespace, settings.cluster.domain)
    return (*names, host) if host else names


def _paths(certificates: CertificateSettings) -> CertificatePaths:
    if not certificates.tls_cert_file:
        return CertificatePaths.within(certificates.cert_dir)
    certificate, key = Path(certificates.tls_cert_file), Path(certificates.tls_private_key_file)
    return CertificatePaths(certificate=certificate, key=key, ca=certificate.parent / "ca.crt")
