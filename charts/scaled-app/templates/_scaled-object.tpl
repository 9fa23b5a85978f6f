{{/* The ScaledObject of one application. An existing chart that depends on this one includes it with values of its own:
{{ include "scaled-app.scaledObject" (dict "Values" (index .Values "scaled-app")) }} */}}
{{- define "scaled-app.scaledObject" -}}
{{- include "scaled-app.checked" . -}}
{{- with .Values }}
{{- if has .env .scaledEnvironments -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: {{ .name }}-{{ .env }}-scaledobject
  namespace: {{ .namespace }}
spec:
  scaleTargetRef:
    apiVersion: {{ .target.apiVersion }}
    kind: {{ .target.kind }}
    name: {{ .name }}-{{ .env }}
  cooldownPeriod: {{ .cooldownPeriod }}
  minReplicaCount: {{ .minReplicaCount }}
  maxReplicaCount: {{ .maxReplicaCount }}
  triggers:
    {{- with .schedule }}
    {{- if .enabled }}
    - type: cron
      metadata:
        timezone: {{ .timezone }}
        start: {{ printf "%s * * %s" .start .weekdays | quote }}
        end: {{ printf "%s * * %s" .end .weekdays | quote }}
        desiredReplicas: {{ .desiredReplicas | quote }}
    {{- end }}
    {{- end }}
    {{- if .memory.enabled }}
    - type: memory
      metricType: Utilization
      metadata:
        value: {{ .memory.utilization | quote }}
    {{- end }}
    {{- with .extraTriggers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* What a schema cannot say: two values that contradict each other. */}}
{{- define "scaled-app.checked" -}}
{{- with .Values }}
{{- if gt (int .minReplicaCount) (int .maxReplicaCount) }}
{{- fail (printf "minReplicaCount %v is above maxReplicaCount %v; lower it" .minReplicaCount .maxReplicaCount) }}
{{- end }}
{{- $start := splitList " " .schedule.start }}{{ $end := splitList " " .schedule.end }}
{{- $same := and (eq (atoi (first $start)) (atoi (first $end))) (eq (atoi (last $start)) (atoi (last $end))) }}
{{- if and .schedule.enabled $same }}
{{- fail (printf "schedule.start and schedule.end are both %q; a window needs two different times" .schedule.start) }}
{{- end }}
{{- if not (or .schedule.enabled .memory.enabled .extraTriggers) }}
{{- fail "no trigger: enable schedule or memory, or give extraTriggers" }}
{{- end }}
{{- end }}
{{- end }}
