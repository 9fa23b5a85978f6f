"""Waking on request: which Services lead to wakers, by which EndpointSlices, and the next step towards them. Pure.

`spec.py` reads what users write, `services.py` what a Service allows, `rules.py` what operator and wakers tell each
other in a slice, and `slices.py` finds the next step. `operator/waking/` does the steps.
"""
