"""The engine that moves one ScaledObject through time: looks, syncs of its HPA, pods. Pure: no clock, files or sockets.

In: versions of an object (`subject.py`), and a setting (`setting.py`): what its triggers would read, and the cluster
around it. Out: each change, told to a `Recorder`. `engine.py` moves time; every decision is the core's.
"""
