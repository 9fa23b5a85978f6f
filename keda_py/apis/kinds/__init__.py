"""Table of our kinds, and the CustomResourceDefinitions generated from it.

In: the models of `apis/` and `apis/environments/`. Out: rows (`table.py`) and CRDs (`crds.py`). Next:
`kube/resources.py` and the controllers.
"""
