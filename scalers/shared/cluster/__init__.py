"""Parts for triggers that read the cluster itself: the HPA's own metrics, label selectors, changes of objects."""
