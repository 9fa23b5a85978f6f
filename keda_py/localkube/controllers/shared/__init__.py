"""The parts that all controllers share: work queue, index of relations, Events, pods and their usage.

In: events of the store. Out: keys to sync.
"""
