"""The built-in kinds: one row per resource, and the kinds that are served in two versions.

Out: resources for the store and for discovery.
"""
