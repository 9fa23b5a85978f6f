{{/* The operator's container, in parts: flags, environment, files, ports. */}}
{{- define "keda-py.image" -}}
{{- $image := .Values.image.keda }}
{{- $registry := .Values.global.image.registry | default $image.registry }}
{{- with $registry }}{{ . }}/{{ end }}{{ $image.repository | default "keda-py" }}:{{ $image.tag | default .Chart.AppVersion }}
{{- /* A tag of one's own is another image than the one that this chart was made with. */}}
{{- $made := index .Chart.Annotations "keda-py.dev/image-digest" | default "" }}
{{- with $image.digest | default (ternary $made "" (empty $image.tag)) }}@{{ . }}{{ end }}
{{- end }}

{{- define "keda-py.args" -}}
{{- $values := .Values -}}
- operator
{{- if $values.shadow.enabled }}
- --shadow=true
{{- else }}
- --leader-elect
- --leader-election-id={{ $values.operator.leaderElectionID }}
{{- with $values.operator.shards }}
- --shards={{ . }}
{{- end }}
- --shutdown-delay={{ $values.operator.shutdownDelay }}
- --decision-history={{ $values.operator.decisionHistory }}
- --secure-port={{ $values.service.portHttpsTarget }}
- --webhook-port={{ ternary ($values.webhooks.port | default 9443) 0 $values.webhooks.enabled }}
{{- with $values.webhooks.clients }}
{{- if .caFile }}
- --webhook-client-ca-file={{ .caFile }}
{{- end }}
{{- if .names }}
- --webhook-client-names={{ join "," .names }}
{{- end }}
{{- end }}
- --enable-webhook-patching={{ $values.webhooks.enabled }}
- --enable-apiservice-patching={{ ne (include "keda-py.patchesServices" .) "" }}
- --cert-dir={{ $values.certificates.mountPath }}
- --enable-cert-rotation={{ ne (include "keda-py.ownCertificates" .) "" }}
- --cert-secret-name={{ $values.certificates.secretName }}
- --operator-service-name={{ $values.operator.name }}
- --metrics-server-service-name={{ include "keda-py.metricsService" . }}
- --webhooks-service-name={{ $values.webhooks.name }}
{{- end }}
- --k8s-cluster-name={{ tpl $values.clusterName . }}
- --k8s-cluster-domain={{ $values.clusterDomain }}
- --zap-log-level={{ $values.logging.operator.level }}
- --zap-encoder={{ $values.logging.operator.format }}
- --zap-time-encoding={{ $values.logging.operator.timeEncoding }}
- --enable-prometheus-metrics={{ $values.prometheus.operator.enabled }}
- --metrics-bind-address=:{{ $values.prometheus.operator.port }}
{{- if $values.opentelemetry.operator.enabled }}
- --enable-opentelemetry-metrics=true
{{- end }}
{{- with $values.metricsServer.upstream }}
{{- if .url }}
- --external-metrics-upstream={{ .url }}
{{- end }}
{{- if .caFile }}
- --external-metrics-upstream-ca-file={{ .caFile }}
{{- end }}
{{- end }}
{{- if include "keda-py.wakes" . }}
- --waker-service={{ include "keda-py.waker" . }}
{{- end }}
- --activations-per-second={{ $values.operator.activationsPerSecond }}
- --http-idle-conn-timeout={{ $values.http.idleConnTimeout }}
{{- range ($values.certificates.operator).caDirs }}
- --ca-dir={{ . }}
{{- end }}
{{- with $values.permissions.operator.crossNamespaceEndpoints }}
- --cross-namespace-endpoints={{ join "," . }}
{{- end }}
{{- if $values.permissions.operator.cloudEventSourceAllNamespaces }}
- --cloud-event-source-all-namespaces=true
{{- end }}
{{- if $values.clusterEnvironments.enabled }}
- --cluster-environments=true
{{- end }}
{{- if $values.kedaDefaults.enabled }}
- --keda-defaults=true
{{- end }}
{{- with $values.kedaDefaults.values }}
- {{ printf "--default-values=%s" (toJson .) | quote }}
{{- end }}
{{- with $values.environments.advice.prometheus }}
- --advise-prometheus={{ . }}
{{- with $values.environments.advice.tokenFile }}
- --advise-bearer-token-file={{ . }}
{{- end }}
{{- end }}
{{- with $values.environments.idleness }}
{{- if .prometheus }}
- --idle-prometheus={{ .prometheus }}
- {{ printf "--idle-query=%s" (required "environments.idleness.query: a query for environments.idleness.prometheus is missing" .query) | quote }}
{{- with .tokenFile }}
- --idle-bearer-token-file={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- if and $values.environments.enabled $values.environments.deleteNamespaces }}
- --delete-namespaces=true
{{- end }}
{{- if $values.environments.downscalerAnnotations }}
- --downscaler-annotations=true
- --downscaler-include-resources={{ join "," $values.environments.downscalerIncludeResources }}
{{- end }}
{{- with $values.operatorIdentity }}
{{- if .hosts }}
- --operator-identity-hosts={{ join "," .hosts }}
{{- end }}
{{- if .anywhere }}
- --operator-identity-anywhere=true
{{- end }}
{{- end }}
{{- range $flag, $value := $values.extraArgs.keda }}
- --{{ $flag }}={{ $value }}
{{- end }}
{{- end }}

{{- define "keda-py.env" -}}
- {name: WATCH_NAMESPACE, value: {{ include "keda-py.watched" . | quote }}}
- {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
- {name: KEDA_PY_STATE_DIR, value: /run/keda-py}
- {name: KEDA_RESTRICT_SECRET_ACCESS, value: {{ .Values.permissions.operator.restrict.secret | quote }}}
{{- with .Values.http }}
- {name: KEDA_HTTP_DEFAULT_TIMEOUT, value: {{ .timeout | quote }}}
- {name: KEDA_HTTP_MAX_RESPONSE_BYTES, value: {{ int64 .maxResponseBytes | quote }}}
- {name: KEDA_HTTP_DISABLE_KEEP_ALIVE, value: {{ not .keepAlive.enabled | quote }}}
- {name: KEDA_HTTP_MIN_TLS_VERSION, value: {{ .minTlsVersion | quote }}}
- {name: KEDA_HTTP_TLS_CIPHER_LIST, value: {{ .tlsCipherList | quote }}}
{{- end }}
- {name: KEDA_SERVICE_MIN_TLS_VERSION, value: {{ .Values.service.minTlsVersion | quote }}}
- {name: KEDA_SERVICE_TLS_CIPHER_LIST, value: {{ .Values.service.tlsCipherList | quote }}}
{{- with .Values.opentelemetry.collector.uri }}
- {name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }}}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* name, Secret, directory of what is mounted from Secrets */}}
{{- define "keda-py.secretFiles" -}}
{{- $files := list }}
{{- if not (include "keda-py.ownCertificates" .) }}
{{- $files = append $files (dict "name" "certificates" "secret" .Values.certificates.secretName "path" .Values.certificates.mountPath) }}
{{- end }}
{{- with .Values.grpcTLSCertsSecret }}
{{- $files = append $files (dict "name" "grpc-certs" "secret" . "path" "/grpccerts") }}
{{- end }}
{{- with .Values.hashiCorpVaultTLS }}
{{- $files = append $files (dict "name" "hashicorp-vault-certs" "secret" . "path" "/hashicorp-vaultcerts") }}
{{- end }}
{{- toJson $files }}
{{- end }}

{{- define "keda-py.container" -}}
name: {{ include "keda-py.name" . }}
image: {{ include "keda-py.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args: {{- include "keda-py.args" . | nindent 2 }}
env: {{- include "keda-py.env" . | nindent 2 }}
ports:
  {{- if not .Values.shadow.enabled }}
  - {name: https, containerPort: {{ .Values.service.portHttpsTarget }}}
  {{- end }}
  {{- if and .Values.webhooks.enabled (not .Values.shadow.enabled) }}
  - {name: webhook, containerPort: {{ .Values.webhooks.port | default 9443 }}}
  {{- end }}
  {{- if .Values.prometheus.operator.enabled }}
  - {name: metrics, containerPort: {{ .Values.prometheus.operator.port }}}
  {{- end }}
  - {name: health, containerPort: 8081}
livenessProbe:
  httpGet: {path: /healthz, port: health}
  {{- toYaml .Values.operator.livenessProbe | nindent 2 }}
readinessProbe:
  httpGet: {path: /readyz, port: health}
  {{- toYaml .Values.operator.readinessProbe | nindent 2 }}
resources: {{- toYaml .Values.resources.operator | nindent 2 }}
securityContext: {{- toYaml .Values.securityContext.operator | nindent 2 }}
volumeMounts:
  # OpenSSL takes certificates from files only; these never reach a disk.
  - {name: tmp, mountPath: /tmp}
  # What was under way when a container died; it lives as long as the pod.
  - {name: state, mountPath: /run/keda-py}
  {{- range fromJsonArray (include "keda-py.secretFiles" .) }}
  - {name: {{ .name }}, mountPath: {{ .path }}, readOnly: true}
  {{- end }}
  {{- with .Values.volumes.keda.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
