{{/* What the operator does in a namespace that it watches; README.md says what needs each rule. */}}
{{- define "keda-py.namespaceRules" -}}
{{- $allowed := .Values.permissions.operator -}}
{{- $restrict := $allowed.restrict -}}
- {apiGroups: [keda.sh], resources: [scaledobjects, scaledjobs, triggerauthentications], verbs: [list, watch, patch]}
- {apiGroups: [keda.sh], resources: [scaledobjects/status, scaledjobs/status, triggerauthentications/status], verbs: [patch]}
- {apiGroups: [keda.sh], resources: [scaledobjects/finalizers, scaledjobs/finalizers], verbs: [update]}
- {apiGroups: [eventing.keda.sh], resources: [cloudeventsources], verbs: [list, watch, patch]}
- {apiGroups: [eventing.keda.sh], resources: [cloudeventsources/status], verbs: [patch]}
- {apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [get, list, watch, create, update, delete]}
- {apiGroups: [apps], resources: [deployments, statefulsets, replicasets], verbs: [get, list, watch]}
- {apiGroups: [apps], resources: [deployments/scale, statefulsets/scale, replicasets/scale], verbs: [get, update]}
{{- if .Values.environments.enabled }}
- {apiGroups: [keda-py.dev], resources: [environments], verbs: [list, watch, patch{{ if .Values.clusterEnvironments.enabled }}, create, update, delete{{ end }}]}
- {apiGroups: [keda-py.dev], resources: [calendars, scalingschedules], verbs: [list, watch]}
- {apiGroups: [keda-py.dev], resources: [overrides], verbs: [list, watch, delete]}
- {apiGroups: [keda-py.dev], resources: [calendars/status, environments/status, overrides/status, scalingschedules/status], verbs: [patch]}
- {apiGroups: [batch], resources: [cronjobs], verbs: [list, watch, patch]}
- {apiGroups: [autoscaling], resources: [horizontalpodautoscalers/status], verbs: [patch]}
{{- range .Values.environments.kinds }}
- {apiGroups: [{{ .apiGroup | quote }}], resources: [{{ .kind | quote }}], verbs: [list, watch]}
{{- end }}
{{- if .Values.environments.fluxAnnotations }}
- {apiGroups: [apps], resources: [deployments, statefulsets], verbs: [patch]}
{{- end }}
{{- end }}
{{- if .Values.kedaDefaults.enabled }}
- {apiGroups: [keda-py.dev], resources: [kedadefaults], verbs: [list, watch]}
- {apiGroups: [keda-py.dev], resources: [kedadefaults/status], verbs: [patch]}
{{- end }}
{{- if .Values.environments.downscalerAnnotations }}
{{- include "keda-py.downscalerRules" . }}
{{- end }}
{{- if .Values.rbac.enabledCustomScaledRefKinds }}
{{- range .Values.rbac.scaledRefKinds }}
- {apiGroups: [{{ .apiGroup | quote }}], resources: ["{{ .kind }}/scale"], verbs: [get, update]}
{{- if ne .kind "*" }}
- {apiGroups: [{{ .apiGroup | quote }}], resources: [{{ .kind | quote }}], verbs: [get]}
{{- end }}
{{- end }}
{{- end }}
{{- if $allowed.scaledJobs }}
- {apiGroups: [batch], resources: [jobs], verbs: [get, list, watch, create, delete]}
{{- end }}
{{- if or $allowed.scaledJobs $allowed.kubernetesWorkload }}
- {apiGroups: [""], resources: [pods], verbs: [list, watch]}
{{- else if include "keda-py.deletes" . }}
- {apiGroups: [""], resources: [pods], verbs: [list]}
{{- end }}
{{- if include "keda-py.deletes" . }}
- {apiGroups: [""], resources: [persistentvolumeclaims], verbs: [list]}
{{- end }}
- {apiGroups: [""], resources: [limitranges], verbs: [list, watch]}
{{ include "keda-py.configMapsRule" . }}
{{- if not $restrict.secret }}
{{ include "keda-py.secretsRule" . }}
{{- end }}
{{- if $allowed.podIdentities }}
- {apiGroups: [""], resources: [serviceaccounts], verbs: [get, list, watch]}
{{- end }}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list]}
{{- if include "keda-py.wakes" . }}
{{ include "keda-py.slicesRules" . }}
{{- end }}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
{{- if $restrict.allowAllServiceAccountTokenCreation }}
- {apiGroups: [""], resources: [serviceaccounts/token], verbs: [create]}
{{- end }}
{{- with .Values.rbac.extraRules }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What the annotations of py-kube-downscaler put down, beside what is read anyway. */}}
{{- define "keda-py.downscalerRules" -}}
{{- $rights := dict "deployments" (list "apps" "patch") "statefulsets" (list "apps" "patch") "daemonsets" (list "apps" "list" "watch" "patch") }}
{{- $_ := set $rights "jobs" (ternary (list "batch" "patch") (list "batch" "list" "watch" "patch") .Values.permissions.operator.scaledJobs) }}
{{- $_ := set $rights "horizontalpodautoscalers" (list "autoscaling" "patch") }}
{{- $_ := set $rights "poddisruptionbudgets" (list "policy" "list" "watch" "patch") }}
{{- if not .Values.environments.enabled }}
{{- $_ := set $rights "cronjobs" (list "batch" "list" "watch" "patch") }}
{{- end }}
{{- range $resource := .Values.environments.downscalerIncludeResources }}
{{- with get $rights $resource }}
- {apiGroups: [{{ first . }}], resources: [{{ $resource }}], verbs: [{{ join ", " (rest .) }}]}
{{- end }}
{{- end }}
{{- end }}

{{/* Not empty: Environments may have their namespaces deleted. */}}
{{- define "keda-py.deletes" -}}
{{- if and .Values.environments.enabled .Values.environments.deleteNamespaces }}yes{{ end }}
{{- end }}

{{/* Secrets that triggers and authentications may name: any, or those listed. */}}
{{- define "keda-py.secretsRule" -}}
{{- $names := .Values.permissions.operator.restrict.namesAllowList -}}
- {apiGroups: [""], resources: [secrets], {{ with $names }}resourceNames: {{ toJson . }}, {{ end }}verbs: [get, list, watch]}
{{- end }}

{{/* The same of ConfigMaps. */}}
{{- define "keda-py.configMapsRule" -}}
{{- $names := .Values.permissions.operator.restrict.configMapNamesAllowList -}}
- {apiGroups: [""], resources: [configmaps], {{ with $names }}resourceNames: {{ toJson . }}, {{ end }}verbs: [get, list, watch]}
{{- end }}

{{/* What it does in its own namespace, besides what the rules above allow there. */}}
{{- define "keda-py.ownRules" -}}
{{- $everywhere := not (include "keda-py.watched" .) }}
{{- $restrict := .Values.permissions.operator.restrict }}
{{- $secret := .Values.certificates.secretName }}
{{- /* Where the ClusterRole allows any Secret, reading ours needs nothing more. */}}
{{- $read := ternary "" "get, list, watch, " (and $everywhere (not $restrict.secret) (not $restrict.namesAllowList)) }}
{{- $lease := .Values.operator.leaderElectionID -}}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [{{ $lease }}], verbs: [get, list, watch, update]}
{{- with .Values.operator.shards }}
{{- $slots := list }}
{{- range until (int .) }}
{{- $slots = append $slots (printf "%s-shard-%d" $lease .) }}
{{- end }}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: {{ toJson $slots }}, verbs: [get, update]}
{{- end }}
{{- if include "keda-py.ownCertificates" . }}
- {apiGroups: [""], resources: [secrets], verbs: [create]}
- {apiGroups: [""], resources: [secrets], resourceNames: [{{ $secret }}], verbs: [{{ $read }}update]}
{{- end }}
{{- if and (not $everywhere) (include "keda-py.wakes" .) }}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
{{- end }}
{{- if include "keda-py.deletes" . }}
- {apiGroups: [""], resources: [configmaps], verbs: [create]}
- {apiGroups: [""], resources: [configmaps], resourceNames: [keda-py-idle-namespaces], verbs: [get, update]}
{{- end }}
{{- if or (not $everywhere) $restrict.secret }}
{{ include "keda-py.secretsRule" . }}
{{- end }}
{{- if not $everywhere }}
{{ include "keda-py.configMapsRule" . }}
{{- end }}
{{- end }}

{{/* Of a list of rules what only reads. */}}
{{- define "keda-py.readingRules" -}}
{{- range fromYamlArray . }}
{{- $verbs := list }}
{{- range .verbs }}
{{- if has . (list "get" "list" "watch") }}
{{- $verbs = append $verbs . }}
{{- end }}
{{- end }}
{{- if $verbs }}
- {{ set . "verbs" $verbs | toJson }}
{{- end }}
{{- end }}
{{- end }}

{{/* What gives counts back before an uninstall does, in each namespace; of other kinds those that may be scaled. */}}
{{- define "keda-py.releaseRules" -}}
- {apiGroups: [keda-py.dev], resources: [environments], verbs: [list, patch]}
- {apiGroups: [keda.sh], resources: [scaledobjects], verbs: [get]}
- {apiGroups: [apps], resources: [deployments/scale, statefulsets/scale], verbs: [get, update]}
- {apiGroups: [batch], resources: [cronjobs], verbs: [get, patch]}
- {apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [list]}
- {apiGroups: [autoscaling], resources: [horizontalpodautoscalers/status], verbs: [patch]}
{{- if .Values.waker.enabled }}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, delete]}
{{- end }}
{{- if .Values.environments.argocdApplications }}
- {apiGroups: [argoproj.io], resources: [applications], verbs: [get, patch]}
{{- end }}
{{- if .Values.environments.fluxAnnotations }}
- {apiGroups: [apps], resources: [deployments, statefulsets], verbs: [list, patch]}
- {apiGroups: [batch], resources: [cronjobs], verbs: [list, patch]}
{{- end }}
{{- if .Values.rbac.enabledCustomScaledRefKinds }}
{{- range .Values.rbac.scaledRefKinds }}
- {apiGroups: [{{ .apiGroup | quote }}], resources: ["{{ .kind }}/scale"], verbs: [get, update]}
{{- end }}
{{- end }}
{{- end }}

{{/* A binding of that one's ServiceAccount: at, kind of the role, name of both, namespace, annotations */}}
{{- define "keda-py.releaseBinding" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata: {{- include "keda-py.metadata" . | nindent 2 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: {{ .kind }}, name: {{ .name }}}
subjects: [{kind: ServiceAccount, name: {{ .name }}, namespace: {{ .at.Release.Namespace }}}]
{{- end }}
