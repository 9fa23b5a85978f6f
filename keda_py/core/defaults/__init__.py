"""Defaults and bounds under manifests: KedaDefaults, ClusterKedaDefaults, and those of the installation.

In: objects of `apis/environments/keda_defaults.py`. Out: specs of ScaledObjects and ScaledJobs with the values in
force, and a note for each field that they changed. `layers.py` orders the objects, `filling.py` lays them under a
manifest.
"""
