{{/* Values that a schema cannot judge: each is refused with what to write instead. */}}
{{- define "keda-py.refuse" -}}
{{- $v := .Values }}
{{- $image := $v.image.keda }}
{{- if hasPrefix "kedacore/" ($image.repository | default "") }}
{{- fail (printf "image.keda.repository: kedacore/keda is KEDA's own image; %s" (include "keda-py.howToBuild" .)) }}
{{- end }}
{{- range $key := list "watchLabelSelector" "watchLabelSelectorForTriggerauth" }}
{{- if index $v $key }}
{{- fail (printf "%s: the operator does not select by label, as KEDA does from 2.21 on; use watchNamespace, or operator.shards for many objects" $key) }}
{{- end }}
{{- end }}
{{- if and $v.networkPolicy.enabled (ne $v.networkPolicy.flavor "kubernetes") }}
{{- fail (printf "networkPolicy.flavor: %q is not made here; write kubernetes, or give a policy in extraObjects" $v.networkPolicy.flavor) }}
{{- end }}
{{- if $v.prometheus.operator.serviceMonitor.relabellings }}
{{- fail "prometheus.operator.serviceMonitor.relabellings: write relabelings" }}
{{- end }}
{{- if and (not $v.rbac.create) $v.rbac.aggregateToDefaultRoles }}
{{- fail "rbac.aggregateToDefaultRoles: means nothing with rbac.create=false" }}
{{- end }}
{{- if and (include "keda-py.watched" .) (has "*" $v.permissions.operator.crossNamespaceEndpoints) }}
{{- fail "permissions.operator.crossNamespaceEndpoints: \"*\" needs rights in every namespace; with watchNamespace name those that are meant" }}
{{- end }}
{{- if and $v.webhooks.clients.names (not $v.webhooks.clients.caFile) }}
{{- fail "webhooks.clients.names: means nothing without webhooks.clients.caFile" }}
{{- end }}
{{- if and $v.clusterEnvironments.enabled (not $v.environments.enabled) }}
{{- fail "clusterEnvironments.enabled: means nothing with environments.enabled=false; switch both on" }}
{{- end }}
{{- $budget := $v.podDisruptionBudget.operator }}
{{- if and (hasKey $budget "minAvailable") (hasKey $budget "maxUnavailable") }}
{{- fail "podDisruptionBudget.operator: give minAvailable or maxUnavailable, not both" }}
{{- end }}
{{- if and $v.podIdentity.aws.irsa.enabled (not $v.podIdentity.aws.irsa.roleArn) }}
{{- fail "podIdentity.aws.irsa.roleArn: is missing; name the IAM role that the operator takes" }}
{{- end }}
{{- if and $v.podIdentity.gcp.enabled (not $v.podIdentity.gcp.gcpIAMServiceAccount) }}
{{- fail "podIdentity.gcp.gcpIAMServiceAccount: is missing; name the account that the operator is" }}
{{- end }}
{{- if and (gt (int $v.operator.replicaCount) 1) $v.operator.useHostNetwork (not ($v.operator.affinity | default $v.affinity)) }}
{{- fail "operator.useHostNetwork: two replicas on one node want the same ports; set operator.affinity to keep them apart" }}
{{- end }}
{{- end }}

{{/* What to write where there is no image of ours. */}}
{{- define "keda-py.howToBuild" -}}
{{- $tag := .Values.image.keda.tag | default .Chart.AppVersion -}}
give --set image.keda.registry=REGISTRY after `docker build -t REGISTRY/keda-py:{{ $tag }} .` and `docker push REGISTRY/keda-py:{{ $tag }}` in this project's folder
{{- end }}

{{/* Values of KEDA's chart that are accepted and mean nothing here; those of idle-values.txt that are given. JSON. */}}
{{- define "keda-py.idleValues" -}}
{{- $given := list }}
{{- range $path := compact (.Files.Lines "idle-values.txt") }}
{{- $here := $.Values }}
{{- range splitList "." $path }}
{{- $here = ternary (get (ternary $here dict (kindIs "map" $here)) .) "" (kindIs "map" $here) }}
{{- end }}
{{- if not (or (kindIs "invalid" $here) (eq (toString $here) "")) }}
{{- $given = append $given $path }}
{{- end }}
{{- end }}
{{- toJson $given }}
{{- end }}
