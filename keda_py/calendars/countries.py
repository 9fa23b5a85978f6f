"""The public holidays of a country, from PyPI's `holidays`.

The first call loads the library, which takes 0.6 s of CPU and 29 MB; therefore call in a thread (`asyncio.to_thread`).
Later countries take 10 ms at most. Names are in English if the library has them, else in the country's language.
"""

from collections.abc import Mapping
from datetime import date
from functools import lru_cache

from keda_py.apis.foreign import list_at, text_at
from keda_py.errors import ConfigError

_LONGEST = 20
MOST_YEARS = 5


# Calendars of one country share a look-up, which takes 10 ms.
@lru_cache(maxsize=128)
def country_holidays(country: str, subdivision: str, years: tuple[int, ...], *, field: str) -> Mapping[date, str]:
    """Holidays by date in these years. Raises ConfigError for a country or subdivision that is unknown."""
    from holidays import country_holidays as look_up

    if len(country) > _LONGEST or len(subdivision) > _LONGEST or len(years) > MOST_YEARS:
        raise ConfigError(
            f"{field}: a code of more than {_LONGEST} characters; write for example KR or DE", field=field
        )
    if not _is_known(country):  # the library would take any name in its module for a country
        raise _unknown(f"{field}.country", country)
    try:
        known = look_up(country, subdiv=subdivision or None, years=years, language="en_US")
    except NotImplementedError:
        raise _unknown(f"{field}.subdivision", subdivision) from None
    return dict(sorted(known.items()))


def check_countries(body: Mapping[str, object]) -> None:
    """Check the countries of a Calendar, an Environment or a template of one. Raises ConfigError for an unknown one."""
    for field in ("spec", "spec.calendar", "spec.template.calendar"):
        for number, source in enumerate(list_at(body, *field.split("."), "holidays")):
            country, subdivision = text_at(source, "country"), text_at(source, "subdivision")
            if country:
                country_holidays(country, subdivision, (), field=f"{field}.holidays[{number}]")


def _unknown(field: str, value: str) -> ConfigError:
    text = f"{field}: {value!r} is unknown; write a code of ISO 3166, such as KR, or list the days under dates"
    return ConfigError(text, field=field)


def _is_known(country: str) -> bool:
    from holidays import list_supported_countries

    return country in list_supported_countries(include_aliases=True)
