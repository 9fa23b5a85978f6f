"""What the operator knows of the cluster without asking: informers, and readers for scalers.

In: `kube/informers`. Out: caches for controllers, the reader that scalers get, namespaces that are on their way out.
"""
