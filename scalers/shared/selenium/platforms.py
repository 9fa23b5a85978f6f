"""The platforms of Selenium, as its `Platform.java` has them: other names of one, and families."""

from collections.abc import Mapping
from typing import Final

_ANY: Final = "any"
_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "windows xp": ("windows server 2003", "xp", "winnt", "windows_nt", "windows nt"),
    "windows vista": ("windows server 2008",),
    "windows 7": ("win7",),
    "windows 8": ("windows server 2012", "win8"),
    "windows 8.1": ("win8.1",),
    "windows 10": ("win10",),
    "windows 11": ("win11",),
    "mac": ("darwin", "macos", "mac os x", "os x"),
    "macos 10.6": ("os x 10.6", "snow leopard"),
    "macos 10.8": ("os x 10.8", "mountain lion"),
    "macos 10.9": ("os x 10.9", "mavericks"),
    "macos 10.10": ("os x 10.10", "yosemite"),
    "macos 10.11": ("os x 10.11", "el capitan"),
    "macos 10.12": ("os x 10.12", "sierra"),
    "macos 10.13": ("os x 10.13", "high sierra"),
    "macos 10.14": ("os x 10.14", "mojave"),
    "macos 10.15": ("os x 10.15", "catalina"),
    "macos 11.0": ("os x 11.0", "big sur"),
    "macos 12.0": ("os x 12.0", "monterey"),
    "macos 13.0": ("os x 13.0", "ventura"),
    "macos 14.0": ("os x 14.0", "sonoma"),
    "macos 15.0": ("os x 15.0", "sequoia"),
    "android": ("dalvik",),
    _ANY: ("",),
}
_NAMES: Final = {other: name for name, others in _OTHER_NAMES.items() for other in others}
_UNIX: Final = ("linux", "bsd", "solaris")


def is_same_platform(one: str, other: str) -> bool:
    """Equal, or members of one family; a family itself is none of its members."""
    name, other_name = _name(one), _name(other)
    return name == other_name or (bool(_family(name)) and _family(name) == _family(other_name))


def _name(text: str) -> str:
    return _NAMES.get(text.lower(), text.lower())


def _family(name: str) -> str:
    if name in _UNIX:
        return "unix"
    if name not in _OTHER_NAMES:
        return ""
    return next((family for family in ("windows", "macos") if name.startswith(f"{family} ")), "")
