{{/* Parameters of a StorageClass as the driver parses them. */}}
{{- define "s3-csi.parameterVariables" -}}
# Without the variables that the driver resolves.
- name: prefix
  expression: >-
    variables.parameters[?'bucketNamePrefix'].orValue('').trim()
    .replace('${pv.name}', '').replace('${pvc.name}', '').replace('${pvc.namespace}', '')
- name: shared
  expression: variables.parameters[?'sharedBucket'].orValue('').trim()
- name: below
  expression: >-
    variables.parameters[?'sharedBucketPrefix'].orValue('').trim()
    .replace('${pv.name}', 'x').replace('${pvc.name}', 'x').replace('${pvc.namespace}', 'x')
- name: tags
  expression: >-
    variables.parameters[?'tags'].orValue('')
    .replace('${pv.name}', '').replace('${pvc.name}', '').replace('${pvc.namespace}', '')
    .split(',').map(t, t.trim()).filter(t, t != '')
{{- end }}

{{- define "s3-csi.parameterRules" -}}
- expression: variables.parameters[?'deletePolicy'].orValue('') in ['', 'delete-if-empty', 'refuse-until-empty', 'purge', 'retain']
  messageExpression: >-
    'parameters.deletePolicy ' + variables.parameters['deletePolicy'] +
    ' is not a known policy: use one of delete-if-empty, refuse-until-empty, purge, retain'
- expression: "!variables.prefix.matches('[$][{][^}]*[}]')"
  message: "parameters.bucketNamePrefix has a variable that does not exist: use ${pvc.name}, ${pvc.namespace} or ${pv.name}"
- expression: variables.shared == '' || variables.parameters[?'bucketNamePrefix'].orValue('').trim() == ''
  message: "parameters: sharedBucket and bucketNamePrefix exclude each other: remove one of them"
- expression: variables.shared == '' || variables.shared.matches('^[a-z0-9][-.a-z0-9]{1,61}[a-z0-9]$')
  message: "parameters.sharedBucket is not a valid bucket name: name an existing bucket"
- expression: variables.below == '' || variables.shared != ''
  message: "parameters.sharedBucketPrefix needs sharedBucket: name an existing bucket in sharedBucket"
- expression: "!variables.below.matches('[$][{][^}]*[}]')"
  message: "parameters.sharedBucketPrefix has a variable that does not exist: use ${pvc.name}, ${pvc.namespace} or ${pv.name}"
- expression: variables.below == '' || variables.below.matches('^[^/]+(/[^/]+)*/?$') && !variables.below.matches('(^|/)[.][.]?(/|$)')
  message: "parameters.sharedBucketPrefix is not a prefix of directories: write names with a slash between them, such as ${pvc.namespace}"
- expression: variables.parameters[?'region'].orValue('').trim().matches('^([A-Za-z0-9][-_A-Za-z0-9]*)?$')
  message: "parameters.region is not a valid region name: use a name such as us-east-1"
- expression: variables.tags.size() <= 40
  message: "parameters.tags has too many tags: use at most 40 tags"
- expression: >-
    variables.tags.all(t, t.matches(r'^[\p{L}\p{N} _.:/+\-@]{1,128}(=[\p{L}\p{N} _.:/=+\-@]*)?$'))
  messageExpression: >-
    'parameters.tags has ' + variables.tags.filter(t, !t.matches(r'^[\p{L}\p{N} _.:/+\-@]{1,128}(=[\p{L}\p{N} _.:/=+\-@]*)?$'))[0] +
    ', which is not a valid tag: write key=value pairs, separated by commas; variables are ${pvc.name}, ${pvc.namespace} and ${pv.name}'
- expression: variables.tags.all(t, !t.matches('^([aA][wW][sS]:|{{ include "s3-csi.driverName" . | replace "." "[.]" }}/)'))
  message: "parameters.tags has a key that is reserved: choose one that does not start with aws: or {{ include "s3-csi.driverName" . }}/"
{{- end }}
