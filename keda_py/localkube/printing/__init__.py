"""Tables for `kubectl get`, made by the server.

In: objects. Out: columns and cells, one file for workloads and one for the rest.
"""
