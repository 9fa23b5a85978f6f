"""Our programs in processes of their own that are forked from one that has imported them already.

A Python that imports keda_py takes 0.3 to 1.4 s of CPU, and most tests that run a command look at what it does and not
at how it starts. So one process imports keda_py once a run (`server.py`), and has one thread; for each command it
forks. The child takes over arguments, environment, folder, streams and other descriptors, and runs the module as a fresh
Python would: its memory, exit code, signals and descriptors are its own.

`client.py` starts programs this way, for a test and for `loop.py`, by which asyncio does, also where keda_py itself
starts one: the webhook process of an operator that a test runs. With `--forks` each run of pytest has such a process; a
run without it, tests of the start itself, of imports and of memory start fresh ones, by the same calls.
"""
