"""The libraries for calendars cost an operator without calendars nothing."""

import subprocess
import sys

CODE = """
import sys
import keda_py.calendars.countries, keda_py.calendars.ics, keda_py.core.environment.calendar.queries
import keda_py.operator.assembly
print([name for name in ("holidays", "icalendar") if name in sys.modules])
"""


def test_the_libraries_are_loaded_with_the_first_calendar_that_needs_them() -> None:
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
