"""Note on one field of a spec that is not as the manifest has it, because of defaults or bounds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DefaultNote:
    """`text` is a sentence such as `pollingInterval 60: from KedaDefaults team in this namespace`.

    `is_bound`: a bound changed the value. `is_asked`: the manifest, or what lies over it, asks for another value.
    """

    field: str
    text: str
    is_bound: bool = False
    is_asked: bool = False
