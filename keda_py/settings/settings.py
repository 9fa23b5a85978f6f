"""Process settings: KEDA's flags and environment variables, read once at start, frozen afterwards.

`keda_py/cli` collects flags and calls `load_settings`; `operator/app.py` is wired from the result. Names and defaults
are KEDA's (operator, metrics adapter and webhooks in one process). AWS_*, AZURE_*, GOOGLE_*, VAULT_* and proxy
variables are left to the libraries that own them. Add a setting = add a field; its flag and help follow.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from keda_py.apis.go_values import parse_bool
from keda_py.errors import ConfigError
from keda_py.settings.environments import EnvironmentSettings
from keda_py.settings.options import Flags, option, read_options, repeatable
from keda_py.settings.parsers import (
    Address,
    parse_cipher_names,
    parse_hosts,
    parse_http_timeout,
    parse_namespaces,
    parse_origin,
    parse_port,
    parse_positive_duration,
    parse_positive_int,
    parse_rate,
    parse_shards,
    parse_tls_version,
    parse_token_expiry,
    parse_url,
    parse_wait,
)
from keda_py.settings.process import (
    LogSettings,
    ProcessSettings,
    ShadowSettings,
    kubeconfig_option,
    metrics_option,
    probes_option,
)
from keda_py.settings.surroundings import service_account_namespace, with_service_tls


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """Cluster, and the part of it that is watched."""

    kubeconfig: str = kubeconfig_option()
    watch_namespaces: tuple[str, ...] = option(
        (),
        parse_namespaces,
        "namespaces to watch, comma separated; empty: all",
        flag="watch-namespace",
        env="WATCH_NAMESPACE",
    )
    pod_namespace: str = option("keda", str, "the operator's own namespace", env="POD_NAMESPACE")
    pod_name: str = option("", str, "the operator's pod, part of its identity in the Lease", env="POD_NAME")
    pod_ip: str = option("", str, "where other replicas reach this one", env="POD_IP")
    object_namespace: str = option(
        "", str, "where ClusterTriggerAuthentications find their Secrets", env="KEDA_CLUSTER_OBJECT_NAMESPACE"
    )
    name: str = option("kubernetes-default", str, "the cluster's name in CloudEvents", flag="k8s-cluster-name")
    domain: str = option("cluster.local", str, "the cluster's DNS domain", flag="k8s-cluster-domain")
    events_everywhere: bool = option(
        False,
        parse_bool,
        "as in KEDA: a CloudEventSource gets the events of all namespaces, not of its own alone",
        flag="cloud-event-source-all-namespaces",
        env="KEDA_PY_CLOUD_EVENT_SOURCE_ALL_NAMESPACES",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadershipSettings:
    """Lease of the leader, and the shards of several active replicas."""

    elect: bool = option(False, parse_bool, "let one replica at a time write", flag="leader-elect")
    lease_name: str = option("operator.keda.sh", str, "name of the Lease", flag="leader-election-id")
    shards: int = option(
        0,
        parse_shards,
        "so many replicas are active at once, each for its share of the objects; 0: one at a time",
        flag="shards",
        env="KEDA_PY_SHARDS",
    )
    lease_duration: timedelta = option(
        timedelta(seconds=15),
        parse_positive_duration,
        "a Lease this old may be taken over",
        env="KEDA_OPERATOR_LEADER_ELECTION_LEASE_DURATION",
    )
    renew_deadline: timedelta = option(
        timedelta(seconds=10),
        parse_positive_duration,
        "a leader that cannot renew for this long stops writing",
        env="KEDA_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE",
    )
    retry_period: timedelta = option(
        timedelta(seconds=2),
        parse_positive_duration,
        "pause between attempts",
        env="KEDA_OPERATOR_LEADER_ELECTION_RETRY_PERIOD",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingSettings:
    """Ports, and shutdown. An address of None is switched off; host "" is every interface."""

    bind_address: str = option("", str, "address of the HTTPS ports; empty: every interface", flag="bind-address")
    secure_port: int = option(6443, parse_port, "HTTPS port of external.metrics.k8s.io", flag="secure-port")
    webhook_port: int = option(9443, parse_port, "HTTPS port of the admission webhook; 0: off", flag="webhook-port")
    metrics: Address | None = metrics_option()
    health: Address | None = probes_option()
    prometheus: bool = option(True, parse_bool, "serve Prometheus metrics", flag="enable-prometheus-metrics")
    detailed_http_metrics: bool = option(
        False,
        parse_bool,
        "tell how long HTTP requests take for each trigger, not for each kind of scaler",
        flag="enable-high-cardinality-metrics-labels",
    )
    opentelemetry: bool = option(
        False,
        parse_bool,
        "push metrics by OTLP to where the OTEL_* variables say",
        flag="enable-opentelemetry-metrics",
    )
    register: str = option(
        "",
        parse_url,
        "URL at which the cluster reaches this process; writes APIService and webhook configuration for it",
        flag="register",
    )
    upstream: str = option(
        "",
        parse_origin,
        "https URL of another adapter's Service, asked for external metrics that are not ours",
        flag="external-metrics-upstream",
        env="KEDA_PY_EXTERNAL_METRICS_UPSTREAM",
    )
    upstream_ca_file: str = option(
        "",
        str,
        "CA of that adapter; default: the cluster's, the system's and those of --ca-dir",
        flag="external-metrics-upstream-ca-file",
        env="KEDA_PY_EXTERNAL_METRICS_UPSTREAM_CA_FILE",
    )
    shutdown_delay: timedelta = option(
        timedelta(0), parse_wait, "after SIGTERM keep serving for this long, not ready", flag="shutdown-delay"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateSettings:
    """Certificates for serving, and trusted authorities."""

    cert_dir: str = option("/certs", str, "directory with tls.crt, tls.key and ca.crt", flag="cert-dir")
    tls_cert_file: str = option("", str, "certificate instead of the one in --cert-dir", flag="tls-cert-file")
    tls_private_key_file: str = option("", str, "its private key", flag="tls-private-key-file")
    client_ca_file: str = option("", str, "CA of client certificates that may ask for metrics", flag="client-ca-file")
    webhook_client_ca_file: str = option(
        "",
        str,
        "CA of the certificates that callers of the webhook must show; empty: any client may call",
        flag="webhook-client-ca-file",
    )
    webhook_client_names: tuple[str, ...] = option(
        (),
        parse_namespaces,
        "common names that those certificates may have, comma separated; empty: any",
        flag="webhook-client-names",
    )
    rotate: bool = option(False, parse_bool, "make and renew our own certificates", flag="enable-cert-rotation")
    secret_name: str = option("kedaorg-certs", str, "Secret that holds them", flag="cert-secret-name")
    operator_service: str = option("keda-operator", str, "Service of the operator", flag="operator-service-name")
    metrics_service: str = option(
        "keda-metrics-apiserver", str, "Service of the metrics server", flag="metrics-server-service-name"
    )
    webhook_service: str = option(
        "keda-admission-webhooks", str, "Service of the webhook", flag="webhooks-service-name"
    )
    webhook_name: str = option(
        "keda-admission", str, "the ValidatingWebhookConfiguration", flag="validating-webhook-name"
    )
    patch_webhook: bool = option(True, parse_bool, "write our CA into it", flag="enable-webhook-patching")
    patch_apiservice: bool = option(
        True, parse_bool, "write our CA into the APIService", flag="enable-apiservice-patching"
    )
    ca_dirs: tuple[str, ...] = repeatable(
        ("/custom/ca",), str, "directory of CAs that scalers trust too; may be given many times", flag="ca-dir"
    )
    min_tls_version: str = option(
        "TLS13", parse_tls_version, "oldest TLS version we serve", env="KEDA_SERVICE_MIN_TLS_VERSION"
    )
    ciphers: tuple[str, ...] = option(
        (), parse_cipher_names, "cipher suites we serve, comma separated", env="KEDA_SERVICE_TLS_CIPHER_LIST"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """HTTP client of scalers."""

    timeout: timedelta = option(
        timedelta(seconds=3), parse_http_timeout, "milliseconds a scaler waits", env="KEDA_HTTP_DEFAULT_TIMEOUT"
    )
    idle_timeout: timedelta = option(
        timedelta(seconds=90),
        parse_positive_duration,
        "an idle connection lives so long",
        flag="http-idle-conn-timeout",
    )
    max_response_bytes: int = option(
        1024 * 1024,
        parse_positive_int,
        "bytes of one answer to a scaler, unpacked, and of one text that it reads from an object",
        flag="http-max-response-bytes",
        env="KEDA_HTTP_MAX_RESPONSE_BYTES",
    )
    disable_keep_alive: bool = option(
        False, parse_bool, "one connection for each request", env="KEDA_HTTP_DISABLE_KEEP_ALIVE"
    )
    min_tls_version: str = option(
        "TLS12", parse_tls_version, "oldest TLS version scalers accept", env="KEDA_HTTP_MIN_TLS_VERSION"
    )
    ciphers: tuple[str, ...] = option(
        (), parse_cipher_names, "cipher suites of scalers, comma separated", env="KEDA_HTTP_TLS_CIPHER_LIST"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingSettings:
    """Work on ScaledObjects and ScaledJobs, and their credentials."""

    scaled_object_workers: int = option(
        5, parse_positive_int, "ScaledObjects reconciled at once", env="KEDA_SCALEDOBJECT_CTRL_MAX_RECONCILES"
    )
    scaled_job_workers: int = option(
        1, parse_positive_int, "ScaledJobs reconciled at once", env="KEDA_SCALEDJOB_CTRL_MAX_RECONCILES"
    )
    zero_polling_interval: timedelta = option(
        timedelta(milliseconds=400),
        parse_wait,
        "triggers of types that cannot push are asked about so often while their workload is at zero, all of a source "
        "at once; 0: at each pollingInterval only",
        flag="zero-polling-interval",
        env="KEDA_PY_ZERO_POLLING_INTERVAL",
    )
    decision_history: timedelta = option(
        timedelta(hours=24),
        parse_wait,
        "changes of so long are kept in each object's status, for `keda-py explain --since`; 0: none",
        flag="decision-history",
        env="KEDA_PY_DECISION_HISTORY",
    )
    activations_per_second: float = option(
        500.0,
        parse_rate,
        "workloads woken from zero in a second, of all namespaces together, which take turns; 0: all at once. With "
        "--shards each of so many replicas has an equal part of it",
        flag="activations-per-second",
        env="KEDA_PY_ACTIVATIONS_PER_SECOND",
    )
    restrict_secret_access: bool = option(
        False,
        lambda text: text.lower() == "true",
        "read Secrets from the operator's own namespace only",
        env="KEDA_RESTRICT_SECRET_ACCESS",
    )
    cross_namespace_endpoints: tuple[str, ...] = option(
        (),
        parse_namespaces,
        "namespaces whose Services triggers of other namespaces may ask endpoint by endpoint, comma separated; "
        '"*": all, as with KEDA',
        flag="cross-namespace-endpoints",
        env="KEDA_PY_CROSS_NAMESPACE_ENDPOINTS",
    )
    token_expiry: timedelta = option(
        timedelta(hours=1),
        parse_token_expiry,
        "lifetime of requested ServiceAccount tokens, 1h to 6h",
        env="KEDA_BOUND_SERVICE_ACCOUNT_TOKEN_EXPIRY",
    )
    report_unknown_metadata: bool = option(
        False,
        lambda text: text == "enabled",
        '"enabled": an Event names trigger metadata that no scaler reads',
        env="KEDA_CHECK_UNEXPECTED_SCALERS_PARAMS",
    )
    file_auth_root: str = option(
        "", str, "directory that filePath of a ClusterTriggerAuthentication may read", flag="filepath-auth-root-path"
    )
    identity_hosts: tuple[str, ...] = option(
        (),
        parse_hosts,
        "hosts that tenants may have the operator's own identity sent to, comma separated; *.example.org: all below it",
        flag="operator-identity-hosts",
        env="KEDA_PY_OPERATOR_IDENTITY_HOSTS",
    )
    identity_anywhere: bool = option(
        False,
        parse_bool,
        "as in KEDA: its own identity goes to any address, over http too, and VAULT_TOKEN wins over any other token",
        flag="operator-identity-anywhere",
        env="KEDA_PY_OPERATOR_IDENTITY_ANYWHERE",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of `keda-py operator`."""

    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    leadership: LeadershipSettings = field(default_factory=LeadershipSettings)
    serving: ServingSettings = field(default_factory=ServingSettings)
    certificates: CertificateSettings = field(default_factory=CertificateSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    scaling: ScalingSettings = field(default_factory=ScalingSettings)
    environments: EnvironmentSettings = field(default_factory=EnvironmentSettings)
    process: ProcessSettings = field(default_factory=ProcessSettings)
    shadow: ShadowSettings = field(default_factory=ShadowSettings)
    logs: LogSettings = field(default_factory=LogSettings)


GROUPS: dict[str, type] = {
    "cluster": ClusterSettings,
    "leadership": LeadershipSettings,
    "serving": ServingSettings,
    "certificates": CertificateSettings,
    "http": HttpSettings,
    "scaling": ScalingSettings,
    "environments": EnvironmentSettings,
    "process": ProcessSettings,
    "shadow": ShadowSettings,
    "logs": LogSettings,
}


SELECTORS = ("WATCH_LABEL_SELECTOR", "WATCH_LABEL_SELECTOR_FOR_TRIGGERAUTH")
"""Variables of KEDA 2.21 that keep some objects from an operator, so that another one has them."""
NO_SELECTORS = "keda-py has no label selector, and would scale the objects of other operators, too"
SELECTOR_REMEDY = "remove it; use WATCH_NAMESPACE, or --shards for many objects"


def load_settings(flags: Flags, env: Mapping[str, str]) -> Settings:
    """Read settings from flags and environment. Raises ConfigError that names every wrong value and its remedy."""
    # All errors are collected, so that an installer corrects them in one go.
    env, wrong = with_service_tls(env), list[str]()
    # KEDA's chart sets them in every installation, to nothing or to two quotes.
    selecting = [name for name in SELECTORS if env.get(name, "").strip('"')]
    wrong.extend(f"{name}: {NO_SELECTORS}: {SELECTOR_REMEDY}" for name in selecting)
    settings = Settings(**{name: read_options(group, flags, env, wrong) for name, group in GROUPS.items()})
    wrong.extend(_contradictions(settings))
    if wrong:
        raise ConfigError("; ".join(wrong))
    if settings.cluster.object_namespace:
        return settings
    namespace = service_account_namespace() or settings.cluster.pod_namespace
    return dataclasses.replace(settings, cluster=dataclasses.replace(settings.cluster, object_namespace=namespace))


def _contradictions(settings: Settings) -> list[str]:
    """Return a sentence for each contradiction between settings that are valid alone."""
    lease, files, serving, found = settings.leadership, settings.certificates, settings.serving, list[str]()
    duration, deadline, retry = (
        f"KEDA_OPERATOR_LEADER_ELECTION_{name}: {value.total_seconds():g}s"
        for name, value in (
            ("LEASE_DURATION", lease.lease_duration),
            ("RENEW_DEADLINE", lease.renew_deadline),
            ("RETRY_PERIOD", lease.retry_period),
        )
    )
    if lease.renew_deadline >= lease.lease_duration:
        found.append(f"{deadline} must be shorter than {duration}")
    if lease.retry_period * 1.2 >= lease.renew_deadline:  # the pause is stretched by up to a fifth
        found.append(f"{retry} times 1.2 must be shorter than {deadline}")
    if bool(files.tls_cert_file) != bool(files.tls_private_key_file):
        found.append("--tls-cert-file and --tls-private-key-file: give both or neither")
    if files.webhook_client_names and not files.webhook_client_ca_file:
        found.append("--webhook-client-names: means nothing without --webhook-client-ca-file")
    if serving.upstream_ca_file and not serving.upstream:
        found.append("--external-metrics-upstream-ca-file: means nothing without --external-metrics-upstream")
    if bool(settings.environments.idle_prometheus) != bool(settings.environments.idle_query):
        found.append("--idle-prometheus and --idle-query: give both or neither")
    if lease.shards and not lease.elect:
        found.append("--shards: means nothing without --leader-elect; give it, too")
    if settings.shadow.enabled and lease.elect:
        found.append("--leader-elect: means nothing with --shadow, which writes nothing; leave it out")
    if settings.shadow.enabled and serving.register:
        found.append("--register: means nothing with --shadow, which answers no HPA; leave it out")
    return found
