"""What the embedded cluster speaks of: resources, requests, refusals, selectors, JSON paths.

Plain values without behaviour of their own; everything else of the cluster builds on them.
"""
