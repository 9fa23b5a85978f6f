{{/* Requests that wake: names, labels and rights of the waker. "" is no. */}}
{{- define "keda-py.wakes" -}}{{ if and .Values.waker.enabled (not .Values.shadow.enabled) }}yes{{ end }}{{- end }}

{{- define "keda-py.waker" -}}{{ .Values.waker.name }}{{- end }}

{{- define "keda-py.wakerSelector" -}}
app: {{ include "keda-py.waker" . }}
{{- end }}

{{/* Not of the operator's own: its Service, budget and policy must not find these pods. */}}
{{- define "keda-py.wakerLabels" -}}
{{- $labels := omit (fromYaml (include "keda-py.labels" .)) "app" "app.kubernetes.io/component" -}}
{{ include "keda-py.wakerSelector" . }}
app.kubernetes.io/component: waker
{{ toYaml $labels }}
{{- end }}

{{/* metadata of an object of the waker: at (the root), name, namespace, annotations of its own */}}
{{- define "keda-py.wakerMetadata" -}}
name: {{ .name }}
{{- with .namespace }}
namespace: {{ . }}
{{- end }}
labels: {{- include "keda-py.wakerLabels" .at | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .at.Values.additionalAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What the operator does with the slices that lead to wakers; the policy in waker-policy.yaml confines it. */}}
{{- define "keda-py.slicesRules" -}}
- {apiGroups: [""], resources: [services], verbs: [list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [watch, create, update, delete]}
- {apiGroups: [keda-py.dev], resources: [overrides], verbs: [create, patch]}
{{- end }}

{{/* What the waker does in a namespace. */}}
{{- define "keda-py.wakerRules" -}}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch{{ if .Values.waker.patchSlices }}, patch{{ end }}]}
{{- end }}
