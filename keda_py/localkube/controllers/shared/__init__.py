"""What every controller works with: the work queue, relations between objects, Events, pods and what they use.

In: events of the store. Out: keys to sync.
"""
