"""Controller of ClusterEnvironments: an Environment in each namespace that one covers, kept as its template is.

In: `operator/environments/known/policies.py`. The decision is `core/environment/namespaces/`. Out: Environments, which
the controller in `operator/environments/` acts on, and the status with the sums of all namespaces.
"""
