"""What the collector looks through as objects come and go; in a process of its own, since it is the process's setting."""

import json
import subprocess
import sys

STORY = """
import gc, json, weakref
from keda_py.operator.process.memory import CALM_LOOKS, MORE_OBJECTS, Generations
class Ring:
    def __init__(self):
        self.itself = self
gc.disable()
generations = Generations()
ring = Ring()
gone = weakref.ref(ring)
before = gc.get_freeze_count()
few = generations.follow(MORE_OBJECTS - 1), gc.get_freeze_count() > before
many = generations.follow(MORE_OBJECTS), gc.get_freeze_count() > before
del ring
gc.collect()
kept = gone() is not None
short = [generations.follow(0) for _ in range(CALM_LOOKS - 1)] + [generations.follow(MORE_OBJECTS)]
calm = [generations.follow(0) for _ in range(CALM_LOOKS)]
again = [generations.follow(0) for _ in range(2 * CALM_LOOKS)]
print(json.dumps([few, many, kept, any(short), calm, gone() is None, any(again)]))
"""


def test_what_stays_is_left_alone_until_most_objects_have_been_gone_for_a_minute() -> None:
    done = subprocess.run([sys.executable, "-c", STORY], capture_output=True, text=True, check=True, timeout=240)
    few, many, kept, short, calm, found, again = json.loads(done.stdout)
    assert few == [False, False]
    assert many == [False, True]
    assert kept, "garbage among what stays is not looked for"
    assert not short, "most objects were gone for less than a minute"
    assert calm == [False] * (len(calm) - 1) + [True]
    assert found
    assert not again, "one look through all is enough"
