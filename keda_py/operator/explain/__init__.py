"""Why an object was scaled or not: the decision record, served at insight.keda-py.dev.

In: the record that looks write. Out: what `keda-py explain` shows.
"""
