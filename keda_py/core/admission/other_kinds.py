"""ScaledJob, (Cluster)TriggerAuthentication, (Cluster)CloudEventSource -> findings.

Pure. KEDA's checks and KEDA's gaps: an identity of a provider without rules ends the check of a TriggerAuthentication,
so that its oauth2 is not looked at; CloudEventSources are refused event types that their CRD lists.
"""

from collections.abc import Iterator, Sequence
from typing import get_args

from keda_py.apis.cloud_event_source import (
    CloudEventSource,
    CloudEventSourceSpec,
    CloudEventType,
    ClusterCloudEventSource,
)
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.trigger_authentication import (
    AuthPodIdentity,
    ClusterTriggerAuthentication,
    OAuth2,
    TriggerAuthentication,
)
from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning, Denial, Finding, deny, deny_triggers
from keda_py.core.jobs.spec import JOBS_AS_WRITTEN
from keda_py.core.values.urls import is_http_url
from keda_py.errors import ConfigError

_AUTHENTICATION = "incorrect-authentication"
_SUBSCRIPTION = "incorrect-event-subscription"
_IDENTITY = "spec.podIdentity"
_EVENTS = "spec.eventSubscription"
_KNOWN_TYPES = frozenset(kind for kind in get_args(CloudEventType) if not kind.startswith("keda.authentication."))


def check_scaled_job(obj: ScaledJob) -> Iterator[Denial]:
    """Check the triggers and our own annotations; min above max is accepted and capped."""
    yield from deny_triggers(obj.spec.triggers)
    try:
        JOBS_AS_WRITTEN.of(obj)
    except ConfigError as error:
        yield from (deny(one, "incorrect-annotation") for one in error.each)


def check_authentication(obj: TriggerAuthentication | ClusterTriggerAuthentication) -> Iterator[Denial]:
    """Check the identity first; oauth2 only if the identity has rules of its own, or is not set."""
    identity, oauth2 = obj.spec.pod_identity, obj.spec.oauth2
    if identity is not None:
        match identity.provider:
            case "azure-workload":
                yield from _check_azure(identity)
            case "aws":
                yield from _check_aws(identity)
            case _:
                return
    if oauth2 is not None:
        yield from _check_oauth2(oauth2)


def check_cloud_event_source(obj: CloudEventSource | ClusterCloudEventSource) -> Iterator[Finding]:
    """Check that types are included or excluded, not both, and known to KEDA, and that the destination can be used."""
    yield from _warn_of_destination(obj.spec)
    subscription = obj.spec.event_subscription
    if subscription is None:
        return
    if {"included_event_types", "excluded_event_types"} <= subscription.model_fields_set:
        yield Denial(
            message="setting included types and excluded types at the same time is not supported",
            reason=_SUBSCRIPTION,
            field=f"{_EVENTS}.excludedEventTypes",
        )
    yield from _check_types("excludedEventType", subscription.excluded_event_types)
    yield from _check_types("includedEventType", subscription.included_event_types)


def _check_azure(identity: AuthPodIdentity) -> Iterator[Denial]:
    fields = identity.model_fields_set
    if "identity_id" in fields and not identity.identity_id:
        text = 'identityId of PodIdentity should not be empty. If it\'s set, identityId has to be different than ""'
        yield _deny(text, f"{_IDENTITY}.identityId")
    if identity.identity_authority_host:
        if not identity.identity_tenant_id:
            text = (
                "identityTenantID of PodIdentity should not be nil or empty when identityAuthorityHost of PodIdentity "
                "is set"
            )
            yield _deny(text, f"{_IDENTITY}.identityTenantId")
    elif "identity_tenant_id" in fields and not identity.identity_tenant_id:
        text = (
            "identityTenantId of PodIdentity should not be empty. If it's set, identityTenantId has to be different "
            'than ""'
        )
        yield _deny(text, f"{_IDENTITY}.identityTenantId")


def _check_aws(identity: AuthPodIdentity) -> Iterator[Denial]:
    if identity.role_arn and identity.identity_owner == "workload":
        yield _deny("roleArn of PodIdentity can't be set if KEDA isn't identityOwner", f"{_IDENTITY}.roleArn")
    if identity.external_id and not identity.role_arn:
        yield _deny("externalID of PodIdentity requires roleArn to be set", f"{_IDENTITY}.externalID")


def _check_oauth2(oauth2: OAuth2) -> Iterator[Denial]:
    if not oauth2.client_id:
        yield _deny("oauth2.clientId is required when oauth2 is configured", "spec.oauth2.clientId")
    if not oauth2.token_url:
        yield _deny("oauth2.tokenUrl is required when oauth2 is configured", "spec.oauth2.tokenUrl")
    elif not is_http_url(oauth2.token_url):
        yield _deny("oauth2.tokenUrl must be a valid http or https URL", "spec.oauth2.tokenUrl")


def _warn_of_destination(spec: CloudEventSourceSpec) -> Iterator[AdmissionWarning]:
    """Warn of unusable destinations, which KEDA accepts: only its log shows later that nothing can be sent."""
    http, topic = spec.destination.http, spec.destination.azure_event_grid_topic
    if http is not None:
        field, address = "spec.destination.http.uri", http.uri
    elif topic is not None:
        field, address = "spec.destination.azureEventGridTopic.endpoint", topic.endpoint
    else:
        field = "spec.destination"
        text = f"{field}: is empty, so nothing is sent; give http.uri or azureEventGridTopic.endpoint"
        yield AdmissionWarning(message=text, field=field, code=codes.EVENT_DESTINATION)
        return
    if http is not None and spec.authentication_ref is not None:
        text = "spec.authenticationRef: an http destination uses no credentials; put the receiver behind TLS"
        yield AdmissionWarning(message=text, field="spec.authenticationRef", code=codes.EVENT_DESTINATION)
    if not is_http_url(address):
        text = f"{field}: is not the address of an HTTP server, so nothing is sent; write http://HOST/PATH or https://"
        yield AdmissionWarning(message=text, field=field, code=codes.EVENT_DESTINATION)


def _check_types(field: str, types: Sequence[str]) -> Iterator[Denial]:
    for index, kind in enumerate(types):
        if kind not in _KNOWN_TYPES:
            text = f"{field}: {kind} in cloudeventsource/clustercloudeventsource spec is not supported"
            yield Denial(message=text, reason=_SUBSCRIPTION, field=f"{_EVENTS}.{field}s[{index}]")


def _deny(message: str, field: str) -> Denial:
    return Denial(message=message, reason=_AUTHENTICATION, field=field)
