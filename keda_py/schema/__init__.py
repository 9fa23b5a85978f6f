"""Structural schemas: fields, defaults, validation and CEL, for the embedded cluster and for `keda-py validate`.

In: a decoded object and its kind's schema. Out: the completed object, or the causes of its refusal, in the API server's
words.
"""
