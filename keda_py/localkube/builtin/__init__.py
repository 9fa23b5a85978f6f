"""The built-in kinds: one row per resource, their schemas, and what is served in two versions.

Out: resources for the store and for discovery.
"""
