{{/*
Name of SecurityContextConstraints: (list $ NAME). Those of 2.x were created by hand, and Helm refuses to adopt objects that it has not
created: they stay, and those of the chart get another name. OpenShift uses any that admits a Pod.
*/}}
{{- define "s3-csi.constraintsName" -}}
{{- $ := index . 0 -}}
{{- $name := include "s3-csi.scopedName" . -}}
{{- $live := lookup "security.openshift.io/v1" "SecurityContextConstraints" "" $name -}}
{{- if and $live (not (include "s3-csi.isOurs" (list $ $live))) }}{{ $.Release.Name }}-{{ end }}{{ $name }}
{{- end }}
