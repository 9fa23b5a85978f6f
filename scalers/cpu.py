"""Scale on the CPU that pods use; the HPA measures it by itself."""

from scalers.shared.cluster.resource_metric import ResourceScaler


class CpuScaler(ResourceScaler):
    """`cpu`: a Resource (or ContainerResource) metric of the HPA."""

    resource_name = "cpu"
