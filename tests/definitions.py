"""Our CustomResourceDefinitions for the clusters of the tests: generated once in a process, which takes 80 ms."""

from keda_py.apis.kinds.crds import build_crds

DEFINITIONS = tuple(build_crds())
