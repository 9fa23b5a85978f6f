"""Scale on the memory that pods use; the HPA measures it by itself."""

from scalers.shared.cluster.resource_metric import ResourceScaler


class MemoryScaler(ResourceScaler):
    """`memory`: a Resource (or ContainerResource) metric of the HPA."""

    resource_name = "memory"
