"""The check that most external metrics share: an HPA takes no target of zero or less."""

from keda_py.sdk.scaler import ConfigError, ScalerContext


def check_target(value: float, key: str, context: ScalerContext) -> None:
    """Raises ConfigError, unless a formula's own target takes the place of this one."""
    if value <= 0 and not context.as_metric_source:
        raise ConfigError(f'{key}: "{value:g}" is no target for an HPA: write a number above 0', field=key)
