"""The SDK for scalers that need more than the ten names of `scaler.py`.

Connections, shared resources and the keys of their credentials; batches; pushes; several metrics; marks for unusual
keys; pod identities.
"""

from keda_py.core.metric_specs import ExternalMetric, MetricSpec, ResourceMetric
from keda_py.errors import AnswerTooLong, EmptyAnswer
from keda_py.net.credential_keys import (
    CredentialDigest,
    CredentialKey,
    OpenKey,
    SharingKey,
    credential_digest,
    sharing_key,
)
from keda_py.net.keys.private_keys import rs256
from keda_py.net.names import addresses
from keda_py.net.operator_identity import Destination
from keda_py.net.redirect_rule import NO_REDIRECTS, RedirectRule
from keda_py.net.tls import TlsSettings
from keda_py.sdk.contract import LONGEST_TIMEOUT, Trigger, check_target
from keda_py.sdk.metadata.marks import (
    META,
    deprecated,
    named,
    prefixed,
    ranges,
    removed,
    separated_by,
    url_unescaped,
    variable,
)
from keda_py.sdk.scaler_context import KubeReader, MetricType, PodIdentity, ScalerContext

__all__ = [
    "LONGEST_TIMEOUT",
    "META",
    "NO_REDIRECTS",
    "AnswerTooLong",
    "CredentialDigest",
    "CredentialKey",
    "Destination",
    "EmptyAnswer",
    "ExternalMetric",
    "KubeReader",
    "MetricSpec",
    "MetricType",
    "OpenKey",
    "PodIdentity",
    "RedirectRule",
    "ResourceMetric",
    "ScalerContext",
    "SharingKey",
    "TlsSettings",
    "Trigger",
    "addresses",
    "check_target",
    "credential_digest",
    "deprecated",
    "named",
    "prefixed",
    "ranges",
    "removed",
    "rs256",
    "separated_by",
    "sharing_key",
    "url_unescaped",
    "variable",
]
