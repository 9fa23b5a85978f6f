"""Defaults of the installation, as a flag: what is misspelt or cannot work is refused before anything is scaled."""

import pytest

from keda_py.errors import ConfigError
from keda_py.settings.settings import load_settings


def test_the_spec_of_a_keda_defaults_is_read_from_the_flag_or_its_variable() -> None:
    text = '{"pollingInterval": 60, "bounds": {"maxReplicaCount": {"atMost": 50}}}'
    for flags, env in (({"default-values": [text]}, {}), ({}, {"KEDA_PY_DEFAULT_VALUES": text})):
        found = load_settings(flags, env).environments.default_values
        assert found is not None
        assert found.bounds is not None
        assert found.bounds.max_replica_count is not None
        assert (found.polling_interval, found.bounds.max_replica_count.at_most) == (60, 50)
    assert load_settings({}, {}).environments.default_values is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("pollingInterval: 60", "is not JSON; write for example"),
        ("[60]", "is not the spec of a KedaDefaults; write for example"),
        ('{"pollInterval": 60}', "has pollInterval, which a KedaDefaults has not"),
        ('{"bounds": {"maxReplicas": {"atMost": 5}}}', "has maxReplicas, which a KedaDefaults has not"),
        ('{"pollingInterval": 0}', "pollingInterval: 0 is too low; use 1 or more"),
    ],
)
def test_what_is_wrong_is_named(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_settings({"default-values": [text]}, {})
    assert sentence in str(refused.value)
