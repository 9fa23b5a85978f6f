"""Label selectors of manifests, for all kinds of `keda-py.dev`."""

from keda_py.apis.job_spec import LabelSelector as WireSelector
from keda_py.core.values.selectors import MAX_REQUIREMENTS, LabelSelector
from keda_py.errors import ConfigError


def build_selector(selector: WireSelector | None, field: str) -> LabelSelector | None:
    """Read a selector; None if it is left out. Raises ConfigError."""
    if selector is None:
        return None
    if len(selector.match_labels) + len(selector.match_expressions) > MAX_REQUIREMENTS:
        raise ConfigError(f"{field}: has more than {MAX_REQUIREMENTS} requirements; write fewer", field=field)
    try:
        return LabelSelector.of(selector.model_dump(by_alias=True))
    except (ValueError, KeyError) as error:
        raise ConfigError(f"{field}: {error}; write it as in a Deployment", field=field) from None
