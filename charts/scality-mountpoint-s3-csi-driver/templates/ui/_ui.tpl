{{/* Not empty if the page is served in the cluster. Stored values may not have it. */}}
{{- define "s3-csi.ui" -}}
{{- include "s3-csi.isOn" (list .Values.ui "enabled" false) }}
{{- end }}

{{/* Name of the ServiceAccount. Stored values may not have it. */}}
{{- define "s3-csi.uiAccount" -}}
{{- dig "serviceAccount" "name" "" (.Values.ui | default dict) | default "s3-csi-driver-ui-sa" }}
{{- end }}

{{/* Name of the Secret with the certificate; empty: plain HTTP. */}}
{{- define "s3-csi.uiCertificate" -}}
{{- with .Values.ui }}{{ with .tls }}{{ .secretName }}{{ end }}{{ end }}
{{- end }}

{{/* Names under which the page is reached, separated by commas: those of the Service, and those of the values. */}}
{{- define "s3-csi.uiHosts" -}}
{{- $names := list "s3-csi-ui" (printf "s3-csi-ui.%s" .Release.Namespace) (printf "s3-csi-ui.%s.svc" .Release.Namespace) -}}
{{- join "," (concat $names (.Values.ui.hosts | default list)) }}
{{- end }}

{{/* Not empty if the page shows rates: everybody may read the metrics, so everybody who may see the page may see rates. */}}
{{- define "s3-csi.uiRates" -}}
{{- if and (include "s3-csi.ui" .) (include "s3-csi.metrics" .) (not (include "s3-csi.metricsAuthorization" .)) }}
{{- include "s3-csi.isOn" (list .Values.metrics "volumes" true) }}
{{- end }}
{{- end }}
