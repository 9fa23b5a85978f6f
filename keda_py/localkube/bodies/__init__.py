"""Bodies of requests: JSON, YAML or protobuf into plain objects of the right kind.

In: bytes and a content type. Out: a dict, or a refusal.
"""
