"""`metric_name = "acme-{queue}"` of a scaler class: a name that is filled from the metadata."""

from string import Formatter
from typing import Any

from keda_py.sdk.metadata.keys import Key
from keda_py.sdk.metadata.model import TriggerMetadata


class MetricTemplate:
    """A descriptor in the place of the text: `{queueName}` or `{queue_name}` stands for the value of that key."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names = tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(text) if name is not None))

    @classmethod
    def settle(cls, scaler: type, model: type[TriggerMetadata] | None) -> None:
        """Take a text as a template, and compare its names with the keys once these are known. Raises TypeError."""
        attribute = "metric_name"
        text = vars(scaler).get(attribute)
        if isinstance(text, str):
            setattr(scaler, attribute, cls(text))
        template = next((vars(owner)[attribute] for owner in scaler.__mro__ if attribute in vars(owner)), None)
        if model is not None and isinstance(template, cls):
            template.check(scaler, model)

    def check(self, scaler: type, model: type[TriggerMetadata]) -> None:
        """Raises TypeError for a name that is no key, and for a secret, which all readers of an HPA would see."""
        for name in self.names:
            key = _key(model, name)
            if key is None or key.secret:
                what = "is a secret" if key else f"is no key of {model.__name__}"
                raise TypeError(f'{scaler.__name__}: metric_name "{self.text}": {name} {what}')

    def __get__(self, scaler: Any, owner: type | None = None) -> Any:
        if scaler is None:
            return self  # the class is asked, as documents do
        metadata: TriggerMetadata = scaler.metadata
        keys = {name: _key(type(metadata), name) for name in self.names}
        # Values are arguments of the format and never part of it, so braces in a tenant's value do nothing.
        return self.text.format(**{name: getattr(metadata, key.field) for name, key in keys.items() if key})

    def described(self, model: type[TriggerMetadata]) -> str:
        """A sentence for the reference: "`acme-<queue>`."."""
        if not self.names:
            return f"Always `{self.text}`; the prefix tells triggers apart."
        keys = {name: _key(model, name) for name in self.names}
        return f"`{self.text.format(**{name: f'<{key.name}>' for name, key in keys.items() if key})}`."


def _key(model: type[TriggerMetadata], name: str) -> Key | None:
    return next((key for key in model.declared_keys() if name in (key.field, *key.names)), None)
