"""Protocols of sources that no library speaks for us: beanstalkd's text, etcd's gateway, bare connections.

In: an address and questions. Out: counts and texts within bounds, or a ScalerError.
"""
