{{/*
A boolean value: (list MAP KEY DEFAULT). Not empty if it is true. With `helm upgrade --reuse-values` the key or the whole map may be
missing, and `default` would treat false as missing.
*/}}
{{- define "s3-csi.isOn" -}}
{{- $map := index . 0 | default dict -}}
{{- if ternary (get $map (index . 1)) (index . 2) (hasKey $map (index . 1)) }}on{{ end }}
{{- end }}

{{/* Not empty on OpenShift, which assigns users and groups per namespace and needs SecurityContextConstraints. */}}
{{- define "s3-csi.openshift" -}}
{{- $given := get (.Values.openshift | default dict) "enabled" -}}
{{- if or (kindIs "invalid" $given) (eq (toString $given) "auto") -}}
{{- if .Capabilities.APIVersions.Has "config.openshift.io/v1" }}on{{ end }}
{{- else if eq (toString $given) "true" -}}
on
{{- end }}
{{- end }}

{{/* Not empty if metrics are served: by metrics.enabled, or by serviceMonitor.enabled or prometheusRule.enabled, which need them. */}}
{{- define "s3-csi.metrics" -}}
{{- $needed := list .Values.metrics .Values.serviceMonitor .Values.prometheusRule -}}
{{- range $needed }}{{ include "s3-csi.isOn" (list . "enabled" false) }}{{ end }}
{{- end }}

{{/* Not empty if the API server decides who may read the metrics. Stored values may not have it. */}}
{{- define "s3-csi.metricsAuthorization" -}}
{{- if include "s3-csi.metrics" . }}{{ include "s3-csi.isOn" (list .Values.metrics "authorization" false) }}{{ end }}
{{- end }}

{{/* Not empty if csi-provisioner serves its metrics: it cannot ask the API server who may read them. */}}
{{- define "s3-csi.provisionerMetrics" -}}
{{- if and (include "s3-csi.metrics" .) (not (include "s3-csi.metricsAuthorization" .)) }}on{{ end }}
{{- end }}

{{/* Name of an object that a second release would create, too: (list $ NAME). */}}
{{- define "s3-csi.scopedName" -}}
{{- $ := index . 0 -}}
{{- if $.Values.releaseScopedNames }}{{ $.Release.Name }}-{{ end }}{{ index . 1 }}
{{- end }}

{{/* Not empty if an object found by `lookup` belongs to this release: (list $ OBJECT). */}}
{{- define "s3-csi.isOurs" -}}
{{- $ := index . 0 -}}
{{- $annotations := dig "metadata" "annotations" dict (index . 1 | default dict) -}}
{{- $name := get $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" -}}
{{- if and (eq $name $.Release.Name) (eq $namespace $.Release.Namespace) }}ours{{ end }}
{{- end }}

{{/*
For objects whose deletion would end mounts or prevent new ones: with these annotations Helm, Argo CD and Flux keep them when they are no
longer rendered and when the release is uninstalled. Each tool reads its annotation from the object in the cluster.
*/}}
{{- define "s3-csi.keptAnnotations" -}}
helm.sh/resource-policy: keep
argocd.argoproj.io/sync-options: Prune=false,Delete=false
kustomize.toolkit.fluxcd.io/prune: disabled
{{- end }}

{{/* Requests and limits of the controller's containers. Stored values of 2.x do not have them. */}}
{{- define "s3-csi.controllerResources" -}}
{{- $default := dict "requests" (dict "cpu" "10m" "memory" "64Mi") -}}
{{- toYaml (.Values.controller.resources | default $default) }}
{{- end }}

{{- define "s3-csi.controllerLogLevel" -}}
{{- ternary 2 .Values.controller.logLevel (kindIs "invalid" .Values.controller.logLevel) }}
{{- end }}
