"""`keda-py explain`: why objects woke, slept or stayed as they are, and what comes next, for people.

In: what the operator serves at insight.keda-py.dev, and what the user may read in the cluster. Out: pages of text.
"""
