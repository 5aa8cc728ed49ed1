{{/* What every container of ours in the controller Pod has. */}}
{{- define "s3-csi.controllerContainer" -}}
{{ include "s3-csi.controllerSecurity" . }}
{{- with .Values.controller.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* And the sidecar, too. */}}
{{- define "s3-csi.controllerSecurity" -}}
securityContext:
  runAsNonRoot: true
  {{- if not (.Capabilities.APIVersions.Has "config.openshift.io/v1") }}
  runAsUser: 1000
  {{- end }}
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
  seccompProfile:
    type: RuntimeDefault
  {{- with include "s3-csi.seLinuxOptions" .Values.controller.seLinuxOptions }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}
