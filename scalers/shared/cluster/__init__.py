"""What triggers that read the cluster itself share: the HPA's own metrics, label selectors, changes of objects."""
