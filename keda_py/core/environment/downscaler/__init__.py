"""The annotations of py-kube-downscaler, decided for one object now, so that no manifest has to be rewritten.

In: an object's annotations and fields, those of its namespace, the settings, `now`. Out: `DesiredFields`
(`decision.py`). Recorded decisions of the program itself are the judge
(`tests/core/environment/test_downscaler.py`); where we differ on purpose is listed there: windows may cross midnight,
and a ScaledObject is put to sleep instead of frozen.
"""
