{{/* Mount options as the driver parses them: the first space or "=" separates name and value. Takes the CEL expression of the list. */}}
{{- define "s3-csi.mountOptionVariables" -}}
- name: options
  expression: {{ . }}.map(o, o.trim()).filter(o, o != '')
- name: names
  expression: >-
    variables.options.map(o, o.startsWith('-') ? o : '--' + o).map(o, o.split(' ')[0].split('=')[0])
{{- end }}

{{/* Options that mount-s3 refuses, so that no such volume can ever have worked. Takes the field name of the list. */}}
{{- define "s3-csi.mountOptionRules" -}}
- expression: variables.names.all(n, n.matches('^(-[^-]|--[^-].*)$'))
  messageExpression: >-
    '{{ . }}: ' + variables.options.filter(o, !(o.startsWith('-') ? o : '--' + o).split(' ')[0].split('=')[0].matches('^(-[^-]|--[^-].*)$'))[0] +
    ' is not a valid option of mount-s3: write one option per line, with its long name'
- expression: variables.options.all(o, !o.matches('^(--)?(uid|gid)([ =]|$)') || o.matches('^(--)?(uid|gid)[ =] *[1-9][0-9]*$'))
  message: "{{ . }}: uid and gid must be integers ≥ 1: write for example uid=1000"
- expression: variables.options.all(o, !o.matches('^(--)?(dir-mode|file-mode)([ =]|$)') || o.matches('^(--)?(dir-mode|file-mode)[ =] *0?[0-7]{3}$'))
  message: "{{ . }}: dir-mode and file-mode must be octal numbers up to 0777: write for example dir-mode=0755"
- expression: variables.options.all(o, !o.matches('^(--)?prefix([ =]|$)') || o.matches('^(--)?prefix[ =].*/$'))
  message: "{{ . }}: prefix must end in a slash: write for example prefix=data/"
- expression: variables.options.all(o, !o.matches('^(--)?(max-cache-size|max-threads|aws-max-attempts|read-part-size|write-part-size|part-size|memory-target)([ =]|$)') || o.matches('^(--)?[a-z-]+[ =] *[0-9]+$'))
  message: "{{ . }}: max-cache-size, max-threads, aws-max-attempts, part sizes and memory-target must be integers ≥ 0: write for example max-threads=16"
- expression: variables.options.all(o, !o.matches('^(--)?(metadata-ttl|negative-metadata-ttl)([ =]|$)') || o.matches('^(--)?[a-z-]+[ =] *([0-9]+|indefinite|minimal)$'))
  message: "{{ . }}: metadata-ttl and negative-metadata-ttl must be seconds, indefinite or minimal: write for example metadata-ttl=60"
- expression: variables.options.all(o, !o.matches('^(--)?sse([ =]|$)') || o.matches('^(--)?sse[ =] *(aws:kms|aws:kms:dsse|AES256)$'))
  message: "{{ . }}: sse must be aws:kms, aws:kms:dsse or AES256: write for example sse=aws:kms"
- expression: variables.options.all(o, !o.matches('^(--)?upload-checksums([ =]|$)') || o.matches('^(--)?upload-checksums[ =] *(crc32c|crc64nvme|off)$'))
  message: "{{ . }}: upload-checksums must be crc32c, crc64nvme or off: write for example upload-checksums=off"
- expression: variables.options.all(o, !o.matches('^(--)?(allow-delete|allow-overwrite|allow-other|allow-root|read-only|force-path-style|requester-pays|no-sign-request|debug|debug-crt|log-metrics|no-log)[ =]'))
  message: "{{ . }}: allow-delete, allow-overwrite, allow-other, allow-root, read-only and similar options have no value: write only the name"
- expression: variables.options.all(o, !o.matches('^(--)?(region|uid|gid|cache|sse|prefix) *=? *$') || o.matches('^(--)?cache$'))
  message: "{{ . }}: region, uid, gid, sse and prefix need a value: write for example region=us-east-1"
{{- end }}

{{/*
Options that are known to lose data, options that the driver leaves out, and options that no known mount-s3 has: the volume works without the
second, and may work with the third.
*/}}
{{- define "s3-csi.questionableOptionRules" -}}
- expression: variables.options.all(o, !o.matches('^(--)?upload-checksums[ =] *off$'))
  message: >-
    {{ . }}: with upload-checksums=off mount-s3 loses empty files, their creation succeeds and no object appears:
    use it only for a store that refuses every write with checksums
- expression: "!variables.names.exists(n, n in ['--profile', '--endpoint-url', '--cache-xz', '--incremental-upload', '--storage-class', '-o', '--auto-unmount'])"
  messageExpression: >-
    '{{ . }}: ' + variables.names.filter(n, n in ['--profile', '--endpoint-url', '--cache-xz', '--incremental-upload', '--storage-class', '-o', '--auto-unmount'])[0] +
    ' is not supported and will be left out: remove it'
- expression: variables.unknown == ''
  messageExpression: >-
    '{{ . }}: ' + variables.unknown + ' is not an option of mount-s3 that this driver knows: ' +
    (2 * variables.distances.min() < variables.unknown.size()
      ? 'did you mean ' + variables.known[variables.distances.indexOf(variables.distances.min())] + '?'
      : 'check its name')
{{- end }}

{{/*
CEL has no edit distance. This is the length of the longer name without the common start and end: 1 for a letter that is missing, added or
wrong, 2 for two that are swapped.
*/}}
{{- define "s3-csi.unknownOptionVariables" -}}
- name: known
  expression: >-
    ['allow-delete', 'allow-other', 'allow-overwrite', 'allow-root', 'auto-unmount', 'aws-max-attempts', 'bind', 'bucket-type', 'ca-bundle', 'cache', 'cache-xz',
     'debug', 'debug-crt', 'dir-mode', 'dual-stack', 'endpoint-url', 'expected-bucket-owner', 'file-mode', 'force-path-style', 'foreground', 'gid', 'help',
     'incremental-upload', 'infer-content-type', 'log-directory', 'log-metrics', 'max-cache-size', 'max-threads', 'maximum-throughput-gbps', 'memory-target',
     'metadata-ttl', 'negative-metadata-ttl', 'no-log', 'no-sign-request', 'otlp-endpoint', 'otlp-export-interval', 'part-size', 'prefix', 'profile', 'read-only',
     'read-part-size', 'region', 'requester-pays', 'sse', 'sse-kms-key-id', 'storage-class', 'transfer-acceleration', 'uid', 'upload-checksums',
     'user-agent-prefix', 'version', 'write-part-size']
- name: unknown
  expression: >-
    (variables.names.filter(n, !(n in ['-d', '-f', '-h', '-l', '-o', '-v', '-V']) && !variables.known.exists(k, n == '--' + k))
    + ['--'])[0].replace('--', '', 1)
- name: lengths
  expression: "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25]"
- name: distances
  expression: >-
    variables.known.map(k, [k.size(), variables.unknown.size()].max() - [k.size(), variables.unknown.size(),
      variables.lengths.filter(i, i <= k.size() && i <= variables.unknown.size() &&
        k.substring(0, i) == variables.unknown.substring(0, i)).size() +
      variables.lengths.filter(i, i <= k.size() && i <= variables.unknown.size() &&
        k.substring(k.size() - i) == variables.unknown.substring(variables.unknown.size() - i)).size()].min())
{{- end }}

{{/* A policy that checks only new objects of one kind: (list $ NAME GROUP RESOURCE CONDITION). */}}
{{- define "s3-csi.creationPolicy" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ include "s3-csi.scopedName" (list (index . 0) (index . 1)) }}
  labels:
    {{- include "s3-csi.labels" (index . 0) | nindent 4 }}
spec:
  # An error in this policy must not prevent the creation of volumes.
  failurePolicy: Ignore
  matchConstraints:
    resourceRules:
      - apiGroups: [{{ index . 2 | quote }}]
        apiVersions: ["*"]
        operations: [CREATE]
        resources: [{{ index . 3 }}]
  matchConditions:
    - name: of-this-driver
      expression: {{ index . 4 }}
{{- end }}

{{/* (list $ NAME ACTION). */}}
{{- define "s3-csi.policyBinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ include "s3-csi.scopedName" (list (index . 0) (index . 1)) }}
  labels:
    {{- include "s3-csi.labels" (index . 0) | nindent 4 }}
spec:
  policyName: {{ include "s3-csi.scopedName" (list (index . 0) (index . 1)) }}
  validationActions: [{{ index . 2 }}]
{{- end }}
