{{/*
What a volume or class says about store and identity, as the driver reads it: (list $ TEXTS TRIM), TEXTS being the CEL map with its texts and
TRIM a call for each of them. An address is compared by a pattern: case, the port of the scheme and a slash at the end do not count.
*/}}
{{- define "s3-csi.storeVariables" -}}
{{- $ := index . 0 -}}
{{- $texts := index . 1 -}}
{{- $trim := index . 2 -}}
{{- $patterns := list -}}
{{- $present := list -}}
{{- range $name, $store := include "s3-csi.stores" $ | fromJson -}}
{{- $urls := concat (list (get $store "endpointUrl" | default (include "s3-csi.endpointUrl" $))) (get $store "formerEndpointUrls" | default list) -}}
{{- $alternatives := list -}}
{{- range $urls }}{{ $alternatives = append $alternatives (include "s3-csi.addressPattern" .) }}{{ end -}}
{{- $patterns = append $patterns (printf "'%s': r'(?i)^(%s)/*$'" $name (join "|" $alternatives)) -}}
{{- $present = append $present (printf "'%s': r'(?i)^%s/*$'" $name (first $alternatives)) -}}
{{- end -}}
# Every store with a pattern for its present and former addresses.
- name: stores
  expression: >-
    { {{- join ", " $patterns -}} }
# The same for the present addresses alone. Several stores may have one address.
- name: presentStores
  expression: >-
    { {{- join ", " $present -}} }
- name: givenStore
  expression: {{ $texts }}[?'store'].orValue(''){{ $trim }}
- name: endpointUrl
  expression: {{ $texts }}[?'endpointUrl'].orValue(''){{ $trim }}
# Stores that have the address, else those that had it.
- name: storesAtAddress
  expression: >-
    variables.presentStores.exists(s, variables.endpointUrl.matches(variables.presentStores[s])) ?
    variables.presentStores.filter(s, variables.endpointUrl.matches(variables.presentStores[s])) :
    variables.stores.filter(s, variables.endpointUrl.matches(variables.stores[s]))
# Empty: the address is that of no store, or of several without the default one.
- name: store
  expression: >-
    variables.givenStore != '' ? variables.givenStore :
    variables.endpointUrl == '' || 'default' in variables.storesAtAddress ? 'default' :
    variables.storesAtAddress.size() == 1 ? variables.storesAtAddress[0] : ''
- name: authenticationSource
  expression: {{ $texts }}[?'authenticationSource'].orValue(''){{ $trim }}
- name: roleArn
  expression: {{ $texts }}[?'roleArn'].orValue(''){{ $trim }}
{{- end }}

{{/* A pattern for the spellings of a URL, in which no quote ends the CEL text. */}}
{{- define "s3-csi.addressPattern" -}}
{{- $url := urlParse . -}}
{{- $port := ternary ":443" ":80" (eq (lower $url.scheme) "https") -}}
{{- $host := trimSuffix $port $url.host -}}
{{- $optionalPort := ternary "" (printf "(%s)?" $port) (regexMatch ":[0-9]+$" $host) -}}
{{- printf "%s://%s%s%s" $url.scheme (regexQuoteMeta $host) $optionalPort (regexQuoteMeta (trimSuffix "/" $url.path)) | replace "'" "." -}}
{{- end }}

{{/* The stores with their addresses, for people. */}}
{{- define "s3-csi.storeNames" -}}
{{- $names := list -}}
{{- range $name, $store := include "s3-csi.stores" . | fromJson -}}
{{- $url := get $store "endpointUrl" | default (include "s3-csi.endpointUrl" $) -}}
{{- $names = append $names (printf "%s (%s)" $name (regexReplaceAll "//[^/]*@" $url "//")) -}}
{{- end -}}
{{- join ", " $names | replace "'" "" -}}
{{- end }}

{{/* Rules about store and identity: (list $ FIELD), FIELD being the field with the texts. */}}
{{- define "s3-csi.storeRules" -}}
{{- $ := index . 0 -}}
{{- $field := index . 1 -}}
- expression: variables.authenticationSource in ['', 'driver', 'secret', 'pod']
  message: "{{ $field }}.authenticationSource is none of driver, secret and pod: use one of them, or remove it"
- expression: variables.givenStore == '' || variables.givenStore in variables.stores
  messageExpression: >-
    '{{ $field }}.store ' + variables.givenStore + ' is not a store of this installation: use one of {{ include "s3-csi.storeNames" $ }},' +
    ' or add it to the chart value s3.stores'
- expression: variables.store != '' || variables.storesAtAddress.size() < 2
  messageExpression: >-
    '{{ $field }}.endpointUrl ' + variables.endpointUrl + ' is the address of several stores: name one of them as store'
- expression: variables.store != '' || variables.storesAtAddress.size() > 1
  messageExpression: >-
    '{{ $field }}.endpointUrl ' + variables.endpointUrl + ' is not the address of a store of this installation: use one of {{ include "s3-csi.storeNames" $ }},' +
    ' or add it to the chart value s3.stores'
- expression: >-
    variables.endpointUrl == '' || !(variables.givenStore in variables.stores) ||
    variables.endpointUrl.matches(variables.stores[variables.givenStore])
  messageExpression: >-
    '{{ $field }}.endpointUrl ' + variables.endpointUrl + ' is not an address of store ' + variables.givenStore +
    ': remove it, or add it to formerEndpointUrls of the store in the chart values'
- expression: variables.roleArn == '' || variables.authenticationSource == 'pod'
  message: "{{ $field }}.roleArn has no effect without authenticationSource pod: set authenticationSource to pod, or remove it"
{{- /* Variables are resolved in parameters of StorageClasses. */}}
- expression: >-
    variables.roleArn.replace('${pv.name}', 'x').replace('${pvc.name}', 'x').replace('${pvc.namespace}', 'x')
    .matches('^(arn:[-a-z0-9]+:iam:[-a-z0-9]*:[-A-Za-z0-9_]*:role/[A-Za-z0-9_+=,.@/-]+)?$')
  message: "{{ $field }}.roleArn is not the ARN of a role: write arn:aws:iam::ACCOUNT:role/NAME"
{{- if include "s3-csi.podIdentity" $ }}
{{- $withSts := list }}
{{- range $name, $store := include "s3-csi.stores" $ | fromJson }}{{ if $store.sts }}{{ $withSts = append $withSts $name }}{{ end }}{{ end }}
- expression: >-
    variables.authenticationSource != 'pod' || !(variables.store in variables.stores) || variables.store in ['{{ join "', '" $withSts }}']
  messageExpression: >-
    '{{ $field }}.authenticationSource pod needs STS, and store ' + variables.store + ' has none: use driver or secret, or set the chart value ' +
    (variables.store == 'default' ? 's3' : 's3.stores.' + variables.store) + '.sts.endpointUrl'
{{- else }}
- expression: variables.authenticationSource != 'pod'
  message: "{{ $field }}.authenticationSource pod is not enabled in this installation: use driver or secret, or set the chart value podIdentity.enabled"
{{- end }}
{{- end }}
