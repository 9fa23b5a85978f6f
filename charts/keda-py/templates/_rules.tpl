{{/* What the operator does in a namespace that it watches; README.md says what needs each rule. */}}
{{- define "keda-py.namespaceRules" -}}
- {apiGroups: [keda.sh], resources: [scaledobjects, scaledjobs, triggerauthentications], verbs: [list, watch, patch]}
- {apiGroups: [keda.sh], resources: [scaledobjects/status, scaledjobs/status, triggerauthentications/status], verbs: [patch]}
- {apiGroups: [keda.sh], resources: [scaledobjects/finalizers, scaledjobs/finalizers], verbs: [update]}
- {apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [get, list, watch, create, update, delete]}
- {apiGroups: [apps], resources: [deployments, statefulsets, replicasets], verbs: [get, list, watch]}
- {apiGroups: [apps], resources: [deployments/scale, statefulsets/scale, replicasets/scale], verbs: [get, update]}
{{- range .Values.rbac.scaledRefKinds }}
- {apiGroups: [{{ .apiGroup | quote }}], resources: ["{{ .kind }}/scale"], verbs: [get, update]}
{{- if ne .kind "*" }}
- {apiGroups: [{{ .apiGroup | quote }}], resources: [{{ .kind | quote }}], verbs: [get]}
{{- end }}
{{- end }}
- {apiGroups: [batch], resources: [jobs], verbs: [get, list, watch, create, delete]}
- {apiGroups: [""], resources: [pods, limitranges], verbs: [list, watch]}
- {apiGroups: [""], resources: [configmaps{{ if not .Values.permissions.operator.restrict.secret }}, secrets{{ end }}], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [serviceaccounts], verbs: [get, list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
{{- if .Values.permissions.operator.restrict.allowAllServiceAccountTokenCreation }}
- {apiGroups: [""], resources: [serviceaccounts/token], verbs: [create]}
{{- end }}
{{- with .Values.rbac.extraRules }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "keda-py.subjects" -}}
subjects: [{kind: ServiceAccount, name: {{ .Values.serviceAccount.operator.name }}, namespace: {{ .Release.Namespace }}}]
{{- end }}
