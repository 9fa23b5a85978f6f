"""Request bodies: JSON, YAML or protobuf becomes a plain object of the right kind.

In: bytes and a content type. Out: a dict, or a refusal.
"""
