{{- define "tidegate.name" -}}
{{- ternary .Release.Name (printf "%s-tidegate" .Release.Name) (contains "tidegate" .Release.Name) | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "tidegate.selector" -}}
app.kubernetes.io/name: tidegate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tidegate.labels" -}}
{{ include "tidegate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "tidegate.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .name }}@{{ .digest }}{{ else }}{{ .name }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* Not empty if other pods reach the server. */}}
{{- define "tidegate.reachable" -}}
{{- if or .Values.tls.secretName .Values.trustedProxies }}yes{{ end }}
{{- end }}

{{- define "tidegate.scheme" -}}
{{- if .Values.tls.secretName }}https{{ else }}http{{ end }}
{{- end }}

{{/* Faults that a schema cannot see. */}}
{{- define "tidegate.check" -}}
{{- $reachable := include "tidegate.reachable" . }}
{{- if and $reachable (not .Values.baseUrl) }}
{{- fail "baseUrl is missing: the https:// URL by which hosts and operators reach the server" }}
{{- end }}
{{- if and .Values.ingress.enabled (not $reachable) }}
{{- fail "ingress.enabled needs trustedProxies with the addresses of the ingress controller's pods, or tls.secretName" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.enabled needs ingress.host" }}
{{- end }}
{{- with .Values.secrets }}
{{- if and (or .databaseUrlKey .signingPrivateKeyKey .jwtSecretKey) (not .existingSecret) }}
{{- fail "secrets.existingSecret is missing: the secret that has these keys" }}
{{- end }}
{{- if and .existingSecret (not (or .databaseUrlKey .signingPrivateKeyKey .jwtSecretKey)) }}
{{- fail "secrets.existingSecret is set, and none of databaseUrlKey, signingPrivateKeyKey and jwtSecretKey" }}
{{- end }}
{{- end }}
{{- end }}

{{/* HTTP costs nothing; a server that listens in its pod alone is asked by a command in there. */}}
{{- define "tidegate.probe" -}}
{{- if include "tidegate.reachable" .root -}}
httpGet:
  path: {{ .path }}
  port: web
  scheme: {{ include "tidegate.scheme" .root | upper }}
{{- else -}}
exec:
  command: [/usr/bin/tidegate, doctor, --running]
{{- end }}
{{- end }}
