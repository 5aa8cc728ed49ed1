{{/* YAML reads an unquoted `off` as false. */}}
{{- define "s3-csi.uploadChecksums" -}}
{{- if kindIs "bool" . }}{{ ternary "" "off" . }}{{ else }}{{ default "" . }}{{ end }}
{{- end }}

{{/* STS of a store as JSON, without empty members: (list VALUE MAP), VALUE being its name in the values. Empty: the store has none. */}}
{{- define "s3-csi.sts" -}}
{{- $value := index . 0 -}}
{{- $sts := index . 1 | default dict -}}
{{- $provisioner := $sts.provisioner | default dict -}}
{{- if $sts.endpointUrl -}}
{{- $members := dict "endpointUrl" $sts.endpointUrl "audience" (default "sts.amazonaws.com" $sts.audience) -}}
{{- range list "caCertData" "roleArn" "durationSeconds" -}}
{{- if get $sts . }}{{ $_ := set $members . (get $sts .) }}{{ end -}}
{{- end -}}
{{- if $provisioner.enabled -}}
{{- $role := ternary (dict "roleArn" $provisioner.roleArn) dict (not (empty $provisioner.roleArn)) -}}
{{- $_ := set $members "provisioner" (merge (dict "enabled" true) $role) -}}
{{- end -}}
{{- toJson $members -}}
{{- else if or $sts.roleArn $sts.caCertData $provisioner.enabled -}}
{{- fail (printf "%[1]s has values, but %[1]s.endpointUrl is not set: set it to the URL of STS, or remove the values" $value) -}}
{{- end -}}
{{- end }}

{{/* A store as JSON, as the programs read it: (list VALUE MAP). */}}
{{- define "s3-csi.store" -}}
{{- $value := index . 0 -}}
{{- $given := index . 1 -}}
{{- $members := dict -}}
{{- range $key, $member := omit $given "sts" "uploadChecksums" -}}
{{- /* false is a choice (pathStyle). */ -}}
{{- if or $member (kindIs "bool" $member) }}{{ $_ := set $members $key $member }}{{ end -}}
{{- end -}}
{{- with include "s3-csi.uploadChecksums" $given.uploadChecksums }}{{ $_ := set $members "uploadChecksums" . }}{{ end -}}
{{- with include "s3-csi.sts" (list (printf "%s.sts" $value) $given.sts) }}{{ $_ := set $members "sts" (fromJson .) }}{{ end -}}
{{- toJson $members -}}
{{- end }}

{{/* Every store that volumes can use, as JSON. Of the default store only what is set: its address is passed on its own. */}}
{{- define "s3-csi.stores" -}}
{{- $default := pick .Values.s3 "uploadChecksums" "formerEndpointUrls" "sts" -}}
{{- $stores := dict "default" (include "s3-csi.store" (list "s3" $default) | fromJson) -}}
{{- range $name, $given := .Values.s3.stores -}}
{{- if eq $name "default" }}{{ fail "s3.stores.default: this name is that of the store of s3.endpointUrl: choose another one" }}{{ end -}}
{{- if $given }}{{ $_ := set $stores $name (include "s3-csi.store" (list (printf "s3.stores.%s" $name) $given) | fromJson) }}{{ end -}}
{{- end -}}
{{- range $name, $given := .Values.s3.stores -}}
{{- if and (dig $name "sts" "endpointUrl" "" $stores) (not (($given).sts).audience) }}{{ include "s3-csi.checkAudience" (list $name $stores) }}{{ end -}}
{{- end -}}
{{- toJson $stores -}}
{{- end }}

{{/*
Fails if the audience that the store NAME has by default is that of another STS: whoever reads the tokens for one could use them at the other.
Two addresses of one STS share an audience that both of them name: (list NAME STORES).
*/}}
{{- define "s3-csi.checkAudience" -}}
{{- $name := index . 0 -}}
{{- $sts := (get (index . 1) $name).sts -}}
{{- range $other, $store := omit (index . 1) $name -}}
{{- if eq (dig "sts" "audience" "" $store) $sts.audience -}}
{{- if ne (trimSuffix "/" $store.sts.endpointUrl) (trimSuffix "/" $sts.endpointUrl) -}}
{{- fail (printf "s3.stores.%s.sts.audience must be set: with its default, %s, the tokens for this STS are valid at the STS of store %s (%s), too. Choose an audience that only this STS expects, or set %s if both belong to one owner" $name $sts.audience $other $store.sts.endpointUrl $sts.audience) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/*
The stores for a container. Nothing if no value says more than 2.x knew. Linux starts no program with a variable of more than 128 KiB: with the
certificate bundle of a distribution, none of the programs would start on any node.
*/}}
{{- define "s3-csi.storeSettings" -}}
{{- $stores := include "s3-csi.stores" . -}}
{{- if gt (len $stores) 100000 -}}
{{- fail (printf "s3.stores and s3.sts have %d bytes with their certificates (%s), and the programs can be started with 100000: keep only the certificates of the stores' own authorities" (len $stores) (include "s3-csi.certificateValues" $stores)) -}}
{{- end -}}
{{- if ne $stores (toJson (dict "default" dict)) -}}
# The stores that volumes can use, by name. No member is secret.
- name: S3_STORES
  value: {{ $stores | quote }}
{{- end }}
{{- end }}

{{/* The values with certificates: JSON of all stores. */}}
{{- define "s3-csi.certificateValues" -}}
{{- $values := list -}}
{{- range $name, $store := fromJson . -}}
{{- $value := ternary "s3" (printf "s3.stores.%s" $name) (eq $name "default") -}}
{{- if $store.caCertData }}{{ $values = append $values (printf "%s.caCertData" $value) }}{{ end -}}
{{- if dig "sts" "caCertData" "" $store }}{{ $values = append $values (printf "%s.sts.caCertData" $value) }}{{ end -}}
{{- end -}}
{{- join ", " $values -}}
{{- end }}

{{/* Names of the Secrets with the driver's credentials for all stores, as JSON. */}}
{{- define "s3-csi.credentialSecrets" -}}
{{- $names := list .Values.s3CredentialSecret.name -}}
{{- range $store := include "s3-csi.stores" . | fromJson -}}
{{- with $store.credentialSecret }}{{ $names = append $names .name }}{{ end -}}
{{- end -}}
{{- $names | uniq | toJson -}}
{{- end }}

{{/* Audiences of the tokens that STS of the stores expects, as JSON. */}}
{{- define "s3-csi.audiences" -}}
{{- $audiences := list -}}
{{- range $store := include "s3-csi.stores" . | fromJson -}}
{{- with $store.sts }}{{ $audiences = append $audiences .audience }}{{ end -}}
{{- end -}}
{{- $audiences | uniq | sortAlpha | toJson -}}
{{- end }}

{{/* Not empty if volumes may use credentials for the service account of their workload. Stored values of earlier versions do not have it. */}}
{{- define "s3-csi.podIdentity" -}}
{{- if include "s3-csi.isOn" (list .Values.podIdentity "enabled" false) -}}
{{- if eq (include "s3-csi.audiences" .) "[]" -}}
{{- fail "podIdentity.enabled needs a store with STS: set s3.sts.endpointUrl, or s3.stores.NAME.sts.endpointUrl" -}}
{{- end -}}
on
{{- end -}}
{{- end }}

{{/* Tokens of the controller's own service account, a file for each store at which it uses STS: sources of a projected volume. */}}
{{- define "s3-csi.provisionerTokens" -}}
{{- range $name, $store := include "s3-csi.stores" . | fromJson -}}
{{- if dig "sts" "provisioner" "enabled" false $store }}
- serviceAccountToken:
    path: {{ $name }}
    audience: {{ $store.sts.audience | quote }}
    expirationSeconds: 3600
{{- end -}}
{{- end -}}
{{- end }}

{{/* The ConfigMap with the certificates that the node plugin trusts at an STS without its own. Empty if it needs none. */}}
{{- define "s3-csi.caForSts" -}}
{{- if include "s3-csi.podIdentity" . }}{{ ((.Values.tls | default dict).caCertConfigMap) }}{{ end -}}
{{- end }}
