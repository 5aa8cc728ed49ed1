{{/*
Name of constraints: (list $ NAME). Those of 2.x were made by hand, and Helm refuses to take over what it has not made: they
stay, and ours get another name beside them. OpenShift takes whichever admits a Pod.
*/}}
{{- define "s3-csi.constraintsName" -}}
{{- $ := index . 0 -}}
{{- $name := include "s3-csi.scopedName" . -}}
{{- $live := lookup "security.openshift.io/v1" "SecurityContextConstraints" "" $name -}}
{{- if and $live (not (include "s3-csi.isOurs" (list $ $live))) }}{{ $.Release.Name }}-{{ end }}{{ $name }}
{{- end }}
