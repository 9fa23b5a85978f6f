"""CloudEvents: our Kubernetes Events, sent to the receivers that CloudEventSources name.

kube/events ─▶ sources (which sources want it?) ─▶ delivery (one queue a source) ─▶ sinks (one attempt)
"""
