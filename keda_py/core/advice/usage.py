"""How a window of hours was really used: on how many of its days, from when until when."""

from collections.abc import Sequence
from dataclasses import dataclass

from keda_py.core.advice.candidates import Use, slots_of
from keda_py.core.advice.hours import AwakeHours
from keda_py.core.advice.marks import IDLE, UNKNOWN, USED
from keda_py.core.environment.calendar.days import DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowUse:
    """Use of one window: `used` of the `days` that are known at all. Times are minutes after midnight."""

    window: AwakeHours
    days: int
    used: int
    firsts: tuple[int, ...] = ()
    lasts: tuple[int, ...] = ()
    """First and last use of each day that had any, sorted."""

    @property
    def _usual(self) -> str:
        first, last = self.firsts[len(self.firsts) // 2], self.lasts[len(self.lasts) // 2]
        return f"{_clock(first)}-{_clock(last)}"

    @property
    def brief(self) -> str:
        """Say on which days and when it is used, such as `Mon-Fri 09:10-18:05 on 97% of the days`."""
        return f"{self.window.days_text} {self._usual} on {self.used / self.days:.0%} of the days"

    @property
    def words(self) -> str:
        """Say how the window is used, such as `usually 09:10-18:05`."""
        if not self.used:
            return f"{self.window}: awake because nothing is known of these hours"
        usual = f"usually {self._usual}"
        outer = f"from {_clock(self.firsts[0])} at the earliest to {_clock(self.lasts[-1])} at the latest"
        share = self.used / self.days
        return f"{self.window}: used on {self.used} of {self.days} days ({share:.0%}), {usual}, {outer}"


def window_use(use: Use, window: AwakeHours) -> WindowUse:
    """Over all days that count."""
    minutes = use.history.step // 60
    days = 0
    firsts: list[int] = []
    lasts: list[int] = []
    for day in use.days:
        marks = slots_of(use, day, window)
        if day.weekday() not in window.days or len(marks) == marks.count(UNKNOWN):
            continue
        days += 1
        if USED in marks:
            firsts.append(window.start + marks.index(USED) * minutes)
            lasts.append(window.start + (marks.rindex(USED) + 1) * minutes)
    return WindowUse(
        window=window, days=days, used=len(firsts), firsts=tuple(sorted(firsts)), lasts=tuple(sorted(lasts))
    )


def week_shares(use: Use) -> Sequence[Sequence[float | None]]:
    """Monday to Sunday, by hour: the share of known steps that were used; None where nothing is known."""
    found: list[list[float | None]] = []
    for weekday in range(7):
        rows = [row for day, row in use.days.items() if day.weekday() == weekday]
        found.append([_share(rows, hour) for hour in range(24)])
    return found


def _share(rows: Sequence[bytearray], hour: int) -> float | None:
    used = known = 0
    for row in rows:
        size = len(row) // 24
        marks = row[hour * size : (hour + 1) * size]
        used += marks.count(USED)
        known += marks.count(USED) + marks.count(IDLE)
    return used / known if known else None


def _clock(minute: int) -> str:
    return f"{minute // 60 % 24:02}:{minute % 60:02}" if minute != DAY else "24:00"
