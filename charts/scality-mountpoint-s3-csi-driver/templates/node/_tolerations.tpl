{{- define "s3-csi.nodeTolerations" -}}
{{- if .Values.node.tolerateAllTaints }}
- operator: Exists
{{- else if .Values.node.defaultTolerations }}
- key: CriticalAddonsOnly
  operator: Exists
# The startup taint, which keeps workloads away until the node plugin runs, with any effect.
- key: {{ include "s3-csi.driverName" . }}/agent-not-ready
  operator: Exists
- operator: Exists
  effect: NoExecute
  tolerationSeconds: 300
{{- end }}
{{- with .Values.node.tolerations }}
{{ toYaml . }}
{{- end }}
{{- end }}
