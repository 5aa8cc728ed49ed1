{{/* The name of the driver: CSI driver, API group, and prefix of labels and annotations. */}}
{{- define "s3-csi.driverName" -}}
s3.csi.scality.com
{{- end }}

{{- define "s3-csi.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* What a Deployment or DaemonSet finds its Pods by, beside its own `app`. Immutable, and the same as in 2.x. */}}
{{- define "s3-csi.selectorLabels" -}}
app.kubernetes.io/name: {{ include "s3-csi.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "s3-csi.labels" -}}
{{ include "s3-csi.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: csi-driver
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.customLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Not empty if the tag is that of a release 1.x or 2.x, which `helm upgrade --reuse-values` brings along. */}}
{{- define "s3-csi.staleTag" -}}
{{- if regexMatch "^v?[12]\\.[0-9]+\\.[0-9]+$" (toString .Values.image.tag) }}{{ .Values.image.tag }}{{ end }}
{{- end }}

{{/* The repository of a sidecar: (list $ CHOSEN DEFAULT). A mirror has the default one; what somebody has chosen is used as it is. */}}
{{- define "s3-csi.mirrored" -}}
{{- $chosen := default (index . 2) (index . 1) -}}
{{- if eq $chosen (index . 2) }}{{ (index . 0).Values.image.containerRegistry }}{{ end }}{{ $chosen }}
{{- end }}

{{- define "s3-csi.image" -}}
{{- $default := printf "v%s" .Chart.AppVersion -}}
{{- $tag := ternary $default (default $default .Values.image.tag) (ne (include "s3-csi.staleTag" .) "") -}}
{{- printf "%s%s:%v" (default "" .Values.image.containerRegistry) .Values.image.repository $tag }}
{{- end }}

{{/* The legacy values below `node` win: who still has them set means them. */}}
{{- define "s3-csi.endpointUrl" -}}
{{- default .Values.s3.endpointUrl .Values.node.s3EndpointUrl }}
{{- end }}

{{- define "s3-csi.region" -}}
{{- default .Values.s3.region .Values.node.s3Region }}
{{- end }}

{{/* Directory of the driver on the host. */}}
{{- define "s3-csi.pluginDir" -}}
{{ trimSuffix "/" .Values.node.kubeletPath }}/plugins/{{ include "s3-csi.driverName" . }}
{{- end }}

{{/* Takes the map itself. Empty entries are left out: the platform then chooses. */}}
{{- define "s3-csi.seLinuxOptions" -}}
{{- $given := dict -}}
{{- range $key, $value := . }}{{ if $value }}{{ $given = set $given $key $value }}{{ end }}{{ end -}}
{{- with $given -}}
seLinuxOptions:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
Of the node plugin. The policy of container-selinux, which RHEL, Fedora and OpenShift have, knows spc_t for privileged containers;
on OpenShift it is said, so that constraints of others cannot choose another one. Elsewhere the container runtime chooses. The
default of 2.x, super_t, is known to Bottlerocket only: `helm upgrade --reuse-values` brings it along, and on OpenShift it counts as unset.
*/}}
{{- define "s3-csi.nodeSeLinuxOptions" -}}
{{- $given := include "s3-csi.seLinuxOptions" .Values.node.seLinuxOptions -}}
{{- $of2x := include "s3-csi.hasSuperType" . -}}
{{- if and (include "s3-csi.openshift" .) (or (not $given) $of2x) }}{{ include "s3-csi.seLinuxOptions" (dict "type" "spc_t") }}
{{- else }}{{ $given }}
{{- end }}
{{- end }}

{{- define "s3-csi.hasSuperType" -}}
{{- if eq (toString (get (.Values.node.seLinuxOptions | default dict) "type")) "super_t" }}super_t{{ end }}
{{- end }}

{{/* Whether the node plugin shares the pid namespace of the host: asked for, or needed. */}}
{{- define "s3-csi.hostPID" -}}
{{- if or .Values.node.hostPID (eq (default "private" .Values.node.mountPidNamespace) "host") }}true{{ end }}
{{- end }}

{{/* Values of an older release do not have it, and 0 means never. */}}
{{- define "s3-csi.hangLimitSeconds" -}}
{{- if kindIs "invalid" .Values.node.hangLimitSeconds }}600{{ else }}{{ .Values.node.hangLimitSeconds | int }}{{ end }}
{{- end }}
