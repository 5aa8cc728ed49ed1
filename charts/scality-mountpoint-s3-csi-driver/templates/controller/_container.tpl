{{/* Fields that all containers of the driver in the controller Pod have. */}}
{{- define "s3-csi.controllerContainer" -}}
{{ include "s3-csi.controllerSecurity" . }}
resources:
  {{- include "s3-csi.controllerResources" . | nindent 2 }}
{{- end }}

{{/* Fields that the sidecar has, too. */}}
{{- define "s3-csi.controllerSecurity" -}}
{{ include "s3-csi.restrictedSecurity" . }}
  {{- with include "s3-csi.seLinuxOptions" .Values.controller.seLinuxOptions }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* As the restricted profile demands, and no writable file system. */}}
{{- define "s3-csi.restrictedSecurity" -}}
securityContext:
  runAsNonRoot: true
  {{- if not (include "s3-csi.openshift" .) }}
  runAsUser: 1000
  {{- end }}
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
  seccompProfile:
    type: RuntimeDefault
{{- end }}
