"""For every test: which generated input hypothesis tries. The counts are in `properties.py`."""

from hypothesis import settings

from tests.properties import EXAMPLES, EXPLORED

# The same cases on every machine, at every run: a red test is red for everybody.
settings.register_profile("suite", max_examples=EXAMPLES, derandomize=True, database=None, deadline=None)
# `make fuzz`: other cases each time, ten times as many. What it finds becomes a plain test.
settings.register_profile("fuzz", max_examples=EXPLORED, database=None, deadline=None, print_blob=True)
settings.load_profile("suite")
