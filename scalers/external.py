"""Scale on what a scaler of your own says, by KEDA's gRPC protocol."""

from scalers.shared.grpc.external_scaler import ExternalMetadata, ExternalMetricsScaler


class ExternalScaler(ExternalMetricsScaler[ExternalMetadata]):
    """Asks at every poll."""
