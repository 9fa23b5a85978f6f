{{/* The Environment of the namespace and its Calendar, in a cluster whose keda-py has environments.enabled. A chart that
depends on this one includes it as the ScaledObject, in one application of each namespace:
{{ include "scaled-app.environment" (dict "Values" (index .Values "scaled-app")) }} */}}
{{- define "scaled-app.environment" -}}
{{- include "scaled-app.checked" . -}}
{{- if and .Values.environment.enabled (include "scaled-app.isScaled" .) -}}
{{- $values := .Values }}
{{- with .Values.environment -}}
apiVersion: keda-py.dev/v1alpha1
kind: Calendar
metadata:
  name: {{ .name | default $values.env }}
  namespace: {{ $values.namespace }}
spec:
  timeZone: {{ .timezone | default $values.schedule.timezone }}
  hours:
    {{- range .hours }}
    - days: {{ .days | default "Mon-Sun" }}
      from: {{ .from | quote }}
      to: {{ .to | quote }}
    {{- end }}
  {{- if or .country .holidays }}
  holidays:
    {{- with .country }}
    - country: {{ . | quote }}
      {{- with $values.environment.subdivision }}
      subdivision: {{ . | quote }}
      {{- end }}
    {{- end }}
    {{- with .holidays }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- with .exceptions }}
  exceptions:
    {{- toYaml . | nindent 4 }}
  {{- end }}
---
apiVersion: keda-py.dev/v1alpha1
kind: Environment
metadata:
  name: {{ .name | default $values.env }}
  namespace: {{ $values.namespace }}
spec:
  calendarRef:
    name: {{ .name | default $values.env }}
  {{- with .selector }}
  selector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .waves }}
  waves:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .readyBy }}
  readyBy: true
  {{- end }}
{{- end }}
{{- end }}
{{- end }}
