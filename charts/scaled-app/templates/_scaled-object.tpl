{{/* The ScaledObject of one application. An existing chart that depends on this one includes it with values of its own:
{{ include "scaled-app.scaledObject" (dict "Values" (index .Values "scaled-app")) }} */}}
{{- define "scaled-app.scaledObject" -}}
{{- include "scaled-app.checked" . -}}
{{- if include "scaled-app.isScaled" . -}}
{{- with .Values -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: {{ .name }}-{{ .env }}-scaledobject
  namespace: {{ .namespace }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  scaleTargetRef:
    apiVersion: {{ .target.apiVersion }}
    kind: {{ .target.kind }}
    name: {{ .name }}-{{ .env }}
  {{- with .pollingInterval }}
  pollingInterval: {{ . }}
  {{- end }}
  {{- if eq (int .minReplicaCount) 0 }}
  cooldownPeriod: {{ .cooldownPeriod }}
  {{- end }}
  minReplicaCount: {{ .minReplicaCount }}
  maxReplicaCount: {{ .maxReplicaCount }}
  {{- with .advanced }}
  advanced:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .fallback }}
  fallback:
    {{- toYaml . | nindent 4 }}
  {{- end }}
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

{{/* "true" where the application gets a ScaledObject, nothing elsewhere. A Deployment sets its replicas only elsewhere:
{{ if not (include "scaled-app.isScaled" (dict "Values" ...)) }}replicas: 2{{ end }} */}}
{{- define "scaled-app.isScaled" -}}
{{- if has .Values.env .Values.scaledEnvironments }}true{{ end }}
{{- end }}
