"""Structural schemas: fields, defaults, validation and CEL, for the embedded cluster and for `keda-py validate`.

In: a decoded object and its kind's schema. Out: the object completed, or the causes why it is refused, in the API
server's words.
"""
