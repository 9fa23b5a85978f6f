"""The Kubernetes client: requests, informers, discovery, Events and leader election.

Read in this order:

resources.py   paths of objects             config.py     kubeconfig, tokens, TLS: the only user of the library
transport.py   one HTTP exchange            client.py     get, list, create, update, patch, delete, streams
informers/     local copies that follow the API server: informer_spec, reflector, cache
discovery.py   kind -> resource             scale.py      replicas, read and written
status.py      status patches               events.py     Kubernetes Events
leases/        leader election              refusals.py   HTTP answers -> keda_py/errors.py
"""
