"""Waking on request, the operator's part: slices that lead Services to wakers, and wakes that wakers ask for.

In: wishes of Environments (`environments/waking/`), Services, wakers. Out: EndpointSlices and Overrides.
`core/waking/` decides; read `waking.py` first. Nothing here runs without `--waker-service`.
"""
