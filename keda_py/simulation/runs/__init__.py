"""Simulations of manifests: each object, each variant of a sweep, one after the other or in processes of their own.

In: bodies of ScaledObjects, a load, settings. Out: figures by object. Next: `keda_py/simulation/reports`.
"""
