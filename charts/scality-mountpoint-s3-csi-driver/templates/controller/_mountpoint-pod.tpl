{{/* Settings of Mountpoint Pods. Stored values of 2.x do not have them, hence the defaults. */}}
{{- define "s3-csi.mountpointPodSettings" -}}
{{- $resources := dict "requests" (dict "cpu" "10m" "memory" "32Mi") -}}
- name: MOUNTPOINT_RESOURCES
  value: {{ .Values.mountpointPod.resources | default $resources | toJson | quote }}
- name: MOUNTPOINT_TOLERATIONS
  {{- /* An empty list is valid: no toleration. */}}
  {{- if kindIs "slice" .Values.mountpointPod.tolerations }}
  value: {{ .Values.mountpointPod.tolerations | toJson | quote }}
  {{- else }}
  value: {{ list (dict "operator" "Exists") | toJson | quote }}
  {{- end }}
{{- with .Values.mountpointPod.labels }}
- name: MOUNTPOINT_LABELS
  value: {{ toJson . | quote }}
{{- end }}
{{- with .Values.mountpointPod.annotations }}
- name: MOUNTPOINT_ANNOTATIONS
  value: {{ toJson . | quote }}
{{- end }}
{{- with .Values.imagePullSecrets }}
- name: MOUNTPOINT_IMAGE_PULL_SECRETS
  value: {{ join "," . | quote }}
{{- end }}
{{- if include "s3-csi.openshift" . }}
# OpenShift assigns users and groups per namespace.
- name: MOUNTPOINT_USER_BY
  value: platform
{{- end }}
{{- end }}

{{/* A text or an integer. Helm reads numbers of a values file as floats, and writes large ones with an exponent. */}}
{{- define "s3-csi.plainText" -}}
{{- if kindIs "string" . }}{{ . }}{{ else if not (kindIs "invalid" .) }}{{ int64 . }}{{ end }}
{{- end }}

{{/* Settings of the rollout, which is off without them. Stored values do not have it. */}}
{{- define "s3-csi.rolloutSettings" -}}
{{- $rollout := .Values.mountpointPod.rollout | default dict -}}
{{- if eq ($rollout.strategy | default "manual") "rolling" -}}
- name: MOUNTPOINT_ROLLOUT_STRATEGY
  value: rolling
{{- if $rollout.paused }}
- name: MOUNTPOINT_ROLLOUT_PAUSED
  value: "true"
{{- end }}
{{- with include "s3-csi.plainText" $rollout.retry }}
- name: MOUNTPOINT_ROLLOUT_RETRY
  value: {{ . | quote }}
{{- end }}
- name: MOUNTPOINT_ROLLOUT_MAX_PER_NODE
  value: {{ $rollout.maxPerNode | default 1 | int64 | quote }}
- name: MOUNTPOINT_ROLLOUT_MAX_PARALLEL
  value: {{ $rollout.maxParallel | default 10 | int64 | quote }}
- name: MOUNTPOINT_ROLLOUT_MAX_FAILURES
  value: {{ $rollout.maxFailures | default 1 | int64 | quote }}
{{- if .Values.node.movesWithGap }}
- name: MOUNTPOINT_ROLLOUT_ALLOWS_GAP
  value: "true"
{{- end }}
{{- with $rollout.window }}
- name: MOUNTPOINT_ROLLOUT_WINDOW
  value: {{ toJson . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Not empty if headroom is enabled. Stored values of 2.x do not have it. */}}
{{- define "s3-csi.headroom" -}}
{{- with .Values.mountpointPod.headroom }}{{ if .enabled }}on{{ end }}{{ end }}
{{- end }}

{{/* Not empty if Mountpoint Pods are to wait for volumes. Stored values of earlier versions do not have it. */}}
{{- define "s3-csi.warm" -}}
{{- with .Values.mountpointPod.warm }}{{ if gt (int .perNode) 0 }}on{{ end }}{{ end }}
{{- end }}

{{/* The object with which Mountpoint Pods end that still wait. */}}
{{- define "s3-csi.warmOwner" -}}
{{ include "s3-csi.scopedName" (list $ "s3-csi-warm-mountpoint-pods") }}
{{- end }}

{{/* Settings of Mountpoint Pods that wait for volumes. */}}
{{- define "s3-csi.warmSettings" -}}
{{- if include "s3-csi.warm" . -}}
- name: MOUNTPOINT_WARM_PER_NODE
  value: {{ .Values.mountpointPod.warm.perNode | quote }}
- name: MOUNTPOINT_WARM_OWNER
  value: {{ include "s3-csi.warmOwner" . }}
{{- end }}
{{- end }}

{{/* Settings of headroom Pods. */}}
{{- define "s3-csi.headroomSettings" -}}
{{- if include "s3-csi.headroom" . -}}
- name: MOUNTPOINT_HEADROOM_ENABLED
  value: "true"
- name: MOUNTPOINT_PREEMPTING_PRIORITY_CLASS_NAME
  value: {{ .Values.mountpointPod.preemptingPriorityClassName | default "mount-s3-preempting" | quote }}
- name: MOUNTPOINT_HEADROOM_PRIORITY_CLASS_NAME
  value: {{ .Values.mountpointPod.headroomPriorityClassName | default "mount-s3-headroom" | quote }}
{{- $image := .Values.mountpointPod.headroomImage | default dict }}
{{- if $image.repository }}
- name: MOUNTPOINT_HEADROOM_IMAGE
  value: {{ printf "%s%s" $image.repository (ternary (printf ":%v" $image.tag) "" (not (empty $image.tag))) | quote }}
- name: MOUNTPOINT_HEADROOM_IMAGE_PULL_POLICY
  value: {{ $image.pullPolicy | default "IfNotPresent" | quote }}
{{- else }}
- name: MOUNTPOINT_HEADROOM_IMAGE_PULL_POLICY
  value: {{ .Values.image.pullPolicy | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Private CA of the object store. Stored values of 1.x, 2.0 and 2.1 have no `tls`. */}}
{{- define "s3-csi.caSettings" -}}
{{- $tls := .Values.tls | default dict -}}
{{- with $tls.caCertConfigMap -}}
- name: TLS_CA_CERT_CONFIGMAP
  value: {{ . | quote }}
{{- with $tls.caCertData }}
# Mountpoint Pods with other certificates are outdated.
- name: TLS_CA_CERT_CHECKSUM
  value: {{ sha256sum . | trunc 16 | quote }}
{{- end }}
{{- with $tls.initImage }}
{{- if .repository }}
- name: TLS_INIT_IMAGE
  value: {{ printf "%s%s" .repository (ternary (printf ":%v" .tag) "" (not (empty .tag))) | quote }}
- name: TLS_INIT_IMAGE_PULL_POLICY
  value: {{ .pullPolicy | default "IfNotPresent" | quote }}
{{- else }}
- name: TLS_INIT_IMAGE_PULL_POLICY
  value: {{ $.Values.image.pullPolicy | quote }}
{{- end }}
{{- end }}
{{- $usual := dict "requests" (dict "cpu" "10m" "memory" "16Mi") "limits" (dict "memory" "64Mi") }}
{{- $resources := $tls.initResources | default $usual }}
{{- with $resources.requests }}
{{- with .cpu }}
- name: TLS_INIT_RESOURCES_REQUESTS_CPU
  value: {{ . | quote }}
{{- end }}
{{- with .memory }}
- name: TLS_INIT_RESOURCES_REQUESTS_MEMORY
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- with $resources.limits }}
{{- with .memory }}
- name: TLS_INIT_RESOURCES_LIMITS_MEMORY
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
