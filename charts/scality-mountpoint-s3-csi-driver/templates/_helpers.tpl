{{/* Name of the CSI driver, API group, and prefix of labels and annotations. */}}
{{- define "s3-csi.driverName" -}}
s3.csi.scality.com
{{- end }}

{{- define "s3-csi.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Selector of Deployment and DaemonSet, in addition to `app`. Immutable, and the same as in 2.x. */}}
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

{{/* Not empty if image.tag is a 1.x or 2.x release, which `helm upgrade --reuse-values` keeps. */}}
{{- define "s3-csi.staleTag" -}}
{{- if regexMatch "^v?[12]\\.[0-9]+\\.[0-9]+$" (toString .Values.image.tag) }}{{ .Values.image.tag }}{{ end }}
{{- end }}

{{/* Repository of a sidecar: (list $ CHOSEN DEFAULT). The prefix for a mirror applies to the default only; a chosen repository is used unchanged. */}}
{{- define "s3-csi.mirrored" -}}
{{- $chosen := default (index . 2) (index . 1) -}}
{{- if eq $chosen (index . 2) }}{{ (index . 0).Values.image.containerRegistry }}{{ end }}{{ $chosen }}
{{- end }}

{{- define "s3-csi.image" -}}
{{- $default := printf "v%s" .Chart.AppVersion -}}
{{- $tag := ternary $default (default $default .Values.image.tag) (ne (include "s3-csi.staleTag" .) "") -}}
{{- printf "%s%s:%v" (default "" .Values.image.containerRegistry) .Values.image.repository $tag }}
{{- end }}

{{/* The legacy values below `node` take precedence, as in 2.x. */}}
{{- define "s3-csi.endpointUrl" -}}
{{- default .Values.s3.endpointUrl .Values.node.s3EndpointUrl }}
{{- end }}

{{- define "s3-csi.region" -}}
{{- default .Values.s3.region .Values.node.s3Region }}
{{- end }}

{{/* The driver's plugin directory on the host. */}}
{{- define "s3-csi.pluginDir" -}}
{{ trimSuffix "/" .Values.node.kubeletPath }}/plugins/{{ include "s3-csi.driverName" . }}
{{- end }}

{{/* Takes the map itself. Empty entries are left out: the platform chooses them. */}}
{{- define "s3-csi.seLinuxOptions" -}}
{{- $given := dict -}}
{{- range $key, $value := . }}{{ if $value }}{{ $given = set $given $key $value }}{{ end }}{{ end -}}
{{- with $given -}}
seLinuxOptions:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
SELinux context of the node plugin. The policy of container-selinux (RHEL, Fedora, OpenShift) has the type spc_t for privileged containers.
On OpenShift the chart sets spc_t, so that other SecurityContextConstraints cannot set another type. Elsewhere the container runtime
chooses. Only Bottlerocket knows super_t, the default of 2.x: `helm upgrade --reuse-values` keeps it, and on OpenShift it counts as unset.
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

{{/* Not empty if the node plugin runs in the pid namespace of the host: by node.hostPID, or because node.mountPidNamespace needs it. */}}
{{- define "s3-csi.hostPID" -}}
{{- if or .Values.node.hostPID (eq (default "private" .Values.node.mountPidNamespace) "host") }}true{{ end }}
{{- end }}

{{/* Stored values of older releases do not have it; 0 means never, so `default` cannot be used. */}}
{{- define "s3-csi.hangLimitSeconds" -}}
{{- if kindIs "invalid" .Values.node.hangLimitSeconds }}600{{ else }}{{ .Values.node.hangLimitSeconds | int }}{{ end }}
{{- end }}
