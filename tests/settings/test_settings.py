import dataclasses
import logging
from datetime import timedelta

import pytest

from keda_py.errors import ConfigError
from keda_py.settings.options import Flags
from keda_py.settings.parsers import Address
from keda_py.settings.settings import Settings, load_settings


def load(flags: Flags | None = None, **env: str) -> Settings:
    return load_settings(flags or {}, env)


def test_without_flags_and_variables_the_defaults_are_kedas() -> None:
    settings = load()
    assert settings.cluster.watch_namespaces == ()
    assert settings.cluster.pod_namespace == settings.cluster.object_namespace == "keda"
    assert settings.leadership.elect is False
    assert settings.leadership.lease_name == "operator.keda.sh"
    assert settings.leadership.lease_duration == timedelta(seconds=15)
    assert settings.serving.metrics == Address(host="", port=8080)
    assert settings.serving.health == Address(host="", port=8081)
    assert (settings.serving.secure_port, settings.serving.webhook_port) == (6443, 9443)
    assert settings.serving.shutdown_delay == timedelta(0)
    assert settings.http.timeout == timedelta(seconds=3)
    assert settings.certificates.ca_dirs == ("/custom/ca",)
    assert settings.scaling.scaled_object_workers == 5
    assert settings.scaling.token_expiry == timedelta(hours=1)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        load().cluster.pod_namespace = "other"  # type: ignore[misc]  # that is the point


def test_a_flag_wins_over_its_variable_and_the_last_flag_over_the_first() -> None:
    settings = load({"watch-namespace": ["x", "develop, release"]}, WATCH_NAMESPACE="other")
    assert settings.cluster.watch_namespaces == ("develop", "release")


def test_a_repeated_flag_adds_up() -> None:
    assert load({"ca-dir": ["/a", "/b"]}).certificates.ca_dirs == ("/a", "/b")


@pytest.mark.parametrize("text", ["", '""', ","])
def test_no_namespace_means_all(text: str) -> None:
    assert load(WATCH_NAMESPACE=text).cluster.watch_namespaces == ()


def test_an_empty_variable_counts_as_absent() -> None:
    assert load(KEDA_HTTP_DEFAULT_TIMEOUT="").http.timeout == timedelta(seconds=3)


@pytest.mark.parametrize(("text", "seconds"), [("500", 0.5), ("0", 0.3), ("-5", 0.3)])
def test_the_http_timeout_is_milliseconds_and_300_when_none_are_left(text: str, seconds: float) -> None:
    assert load(KEDA_HTTP_DEFAULT_TIMEOUT=text).http.timeout == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":9090", Address(host="", port=9090)),
        ("127.0.0.1:0", Address(host="127.0.0.1", port=0)),
        ("[::1]:8080", Address(host="::1", port=8080)),
        ("0", None),
    ],
)
def test_an_address_is_written_as_go_writes_it_and_0_is_off(text: str, address: Address | None) -> None:
    assert load({"metrics-bind-address": [text]}).serving.metrics == address


@pytest.mark.parametrize(
    ("variables", "version"),
    [
        ({}, "TLS12"),
        ({"KEDA_HTTP_MIN_TLS_VERSION": "TLS11"}, "TLS11"),
        ({"KEDA_HTTP_MIN_TLS_VERSION": "TLS11", "KEDA_SERVICE_MIN_TLS_VERSION": ""}, "TLS13"),
        ({"KEDA_SERVICE_MIN_TLS_VERSION": "TLS12"}, "TLS12"),
    ],
)
def test_services_inherit_the_tls_version_of_scalers_unless_told(variables: dict[str, str], version: str) -> None:
    assert load(**variables).certificates.min_tls_version == version


@pytest.mark.parametrize(
    ("flag", "text", "remedy"),
    [
        ("secure-port", "http", "is not a port; use a number from 0 to 65535"),
        ("webhook-port", "65536", "is not a port"),
        ("metrics-bind-address", "8080", "is not an address; use"),
        ("metrics-bind-address", "::1:8080", "is not an address; use"),
        ("shards", "17", "is not a number of replicas; use a number from 0 to 16"),
        ("leader-elect", "yes", "is not a boolean; use true or false"),
        ("shutdown-delay", "5", "is not a duration; write it with its unit"),
        ("shutdown-delay", "-5s", "is negative"),
        ("http-idle-conn-timeout", "0s", "is not longer than 0"),
        ("register", "http://192.0.2.7", "is not an https URL"),
        ("register", "https://[", "is not an https URL"),
        ("external-metrics-upstream", "http://adapter.datadog.svc", "is not an https URL"),
        ("external-metrics-upstream", "https://adapter.datadog.svc/apis", "has more than host and port"),
        ("external-metrics-upstream", "https://me:secret@adapter", "has more than host and port"),
        ("operator-identity-hosts", "https://vault.example.org", "is not a list of hosts; use for example"),
        ("operator-identity-hosts", "*", "is not a list of hosts"),
        ("operator-identity-hosts", "vault.*.org", "is not a list of hosts"),
        ("operator-identity-hosts", "vault.example.org:8200", "is not a list of hosts"),
        ("operator-identity-anywhere", "vault.example.org", "is not a boolean"),
        ("zap-log-level", "loud", "is not a log level; use debug, info"),
        ("zap-log-level", "0", "is not a log level"),
        ("zap-encoder", "xml", "is unknown; use json or console"),
        ("zap-time-encoding", "unix", "is unknown; use epoch, millis"),
    ],
)
def test_a_wrong_flag_is_named_with_value_and_remedy(flag: str, text: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load({flag: [text]})
    assert str(caught.value).startswith(f"--{flag}: {text!r} {remedy}")


def test_an_upstream_is_kept_without_a_slash_at_its_end() -> None:
    assert load({"external-metrics-upstream": ["https://a.b:8443/"]}).serving.upstream == "https://a.b:8443"
    assert load(KEDA_PY_EXTERNAL_METRICS_UPSTREAM="https://a.b").serving.upstream == "https://a.b"


def test_sources_are_asked_often_at_zero_unless_told_not_to() -> None:
    assert load().scaling.zero_polling_interval == timedelta(milliseconds=400)
    assert load({"zero-polling-interval": ["2s"]}).scaling.zero_polling_interval == timedelta(seconds=2)
    assert not load(KEDA_PY_ZERO_POLLING_INTERVAL="0").scaling.zero_polling_interval
    with pytest.raises(ConfigError, match="is negative"):
        load({"zero-polling-interval": ["-1s"]})


def test_fifty_workloads_are_woken_in_a_second_unless_told_otherwise() -> None:
    assert load().scaling.activations_per_second == 500
    assert load({"activations-per-second": ["0.5"]}).scaling.activations_per_second == 0.5
    assert load(KEDA_PY_ACTIVATIONS_PER_SECOND="0").scaling.activations_per_second == 0
    for wrong in ("-1", "nan", "many", "1e9", ""):
        with pytest.raises(ConfigError, match="is not a number a second"):
            load({"activations-per-second": [wrong]})


def test_the_operators_own_identity_goes_nowhere_unless_told() -> None:
    scaling = load().scaling
    assert (scaling.identity_hosts, scaling.identity_anywhere) == ((), False)
    scaling = load({"operator-identity-hosts": [" Vault.example.org., *.svc.cluster.local,::1,"]}).scaling
    assert scaling.identity_hosts == ("vault.example.org", "*.svc.cluster.local", "::1")
    assert load(KEDA_PY_OPERATOR_IDENTITY_HOSTS="a.b").scaling.identity_hosts == ("a.b",)
    assert load(KEDA_PY_OPERATOR_IDENTITY_ANYWHERE="true").scaling.identity_anywhere


def test_shards_want_an_election_which_a_shadow_has_not() -> None:
    with pytest.raises(ConfigError, match="means nothing without --leader-elect"):
        load({"shards": ["3"]})
    with pytest.raises(ConfigError, match="means nothing with --shadow"):
        load({"shards": ["3"], "leader-elect": ["true"], "shadow": ["true"]})
    assert load({"shards": ["3"], "leader-elect": ["true"]}).leadership.shards == 3


def test_a_ca_file_without_an_upstream_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match="means nothing without --external-metrics-upstream"):
        load({"external-metrics-upstream-ca-file": ["/ca"]})


@pytest.mark.parametrize(
    ("variable", "text", "remedy"),
    [
        ("KEDA_HTTP_DEFAULT_TIMEOUT", "3s", "is not a number of milliseconds"),
        ("KEDA_HTTP_DISABLE_KEEP_ALIVE", "on", "is not a boolean"),
        ("KEDA_HTTP_MIN_TLS_VERSION", "1.2", "is unknown; use TLS10, TLS11, TLS12 or TLS13"),
        ("KEDA_SCALEDOBJECT_CTRL_MAX_RECONCILES", "0", "is not a whole number of at least 1"),
        ("KEDA_OPERATOR_LEADER_ELECTION_LEASE_DURATION", "15", "is not a duration"),
        ("KEDA_BOUND_SERVICE_ACCOUNT_TOKEN_EXPIRY", "30m", "is not between 1h and 6h"),
    ],
)
def test_a_wrong_variable_is_named_with_value_and_remedy(variable: str, text: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(**{variable: text})
    assert f"{variable}: {text!r} {remedy}" in str(caught.value)


@pytest.mark.parametrize("variable", ["WATCH_LABEL_SELECTOR", "WATCH_LABEL_SELECTOR_FOR_TRIGGERAUTH"])
def test_a_label_selector_is_refused_and_not_passed_over(variable: str) -> None:
    with pytest.raises(ConfigError, match=f"{variable}: keda-py has no label selector.*use WATCH_NAMESPACE"):
        load(**{variable: "team=shop"})
    for nothing in ("", '""'):
        load(**{variable: nothing})


def test_every_wrong_setting_is_named_at_once() -> None:
    with pytest.raises(ConfigError, match=r"secure-port.*; .*KEDA_HTTP_DEFAULT_TIMEOUT"):
        load({"secure-port": ["x"]}, KEDA_HTTP_DEFAULT_TIMEOUT="x")


@pytest.mark.parametrize(
    "variables",
    [
        {"KEDA_OPERATOR_LEADER_ELECTION_LEASE_DURATION": "10s"},
        {"KEDA_OPERATOR_LEADER_ELECTION_RETRY_PERIOD": "9s"},
    ],
)
def test_lease_times_that_cannot_work_together_are_refused(variables: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="RENEW_DEADLINE"):
        load(**variables)


def test_a_certificate_without_its_key_is_refused() -> None:
    with pytest.raises(ConfigError, match="give both or neither"):
        load({"tls-cert-file": ["/tls.crt"]})


@pytest.mark.parametrize(("text", "level"), [("debug", logging.DEBUG), ("error", logging.ERROR), ("5", logging.DEBUG)])
def test_a_log_level_is_a_word_or_zaps_verbosity(text: str, level: int) -> None:
    assert load({"zap-log-level": [text]}).logs.level == level


@pytest.mark.parametrize(("text", "restricted"), [("true", True), ("TRUE", True), ("1", False), ("", False)])
def test_secret_access_is_restricted_by_the_word_true_only(text: str, restricted: bool) -> None:
    assert load(KEDA_RESTRICT_SECRET_ACCESS=text).scaling.restrict_secret_access is restricted
