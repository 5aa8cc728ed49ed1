{{/* The CSI controller service: creates and deletes the buckets of dynamic volumes. */}}
{{- define "s3-csi.csiController" -}}
{{- $tls := .Values.tls | default dict -}}
- name: s3-csi-controller
  image: {{ include "s3-csi.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args:
    - --endpoint=$(CSI_ENDPOINT)
    - --v={{ include "s3-csi.controllerLogLevel" . }}
    - --health-port=9810
    {{- if include "s3-csi.metrics" . }}
    - --metrics
    {{- if include "s3-csi.metricsAuthorization" . }}
    - --metrics-authorization
    {{- end }}
    {{- end }}
    {{- with .Values.s3CredentialSecret }}
    # Credentials are read through the API, so that they are in no environment and changes need no restart.
    - --credentials-secret={{ $.Release.Namespace }}/{{ .name }}
    - --access-key-id-field={{ .accessKeyId }}
    - --secret-access-key-field={{ .secretAccessKey }}
    - --session-token-field={{ .sessionToken }}
    {{- end }}
    {{- if eq (include "s3-csi.fallbackToDriverCredentials" .) "false" }}
    - --no-driver-credentials-fallback
    {{- end }}
    {{- if include "s3-csi.protectsSecrets" . }}
    - --protected-secrets={{ .Release.Namespace }}/{{ include "s3-csi.protectedSecrets" . }}
    {{- end }}
    {{- if include "s3-csi.podIdentity" . }}
    - --pod-identity
    {{- end }}
    {{- if include "s3-csi.provisionerTokens" . }}
    # A file for each store at which buckets are created with temporary credentials.
    - --provisioner-token-dir=/provisioner-tokens
    {{- end }}
  env:
    - name: CSI_CONTROLLER_ONLY
      value: "true"
    # The Pod on which orphaned buckets are reported.
    - name: POD_NAME
      valueFrom:
        fieldRef:
          fieldPath: metadata.name
    - name: POD_NAMESPACE
      valueFrom:
        fieldRef:
          fieldPath: metadata.namespace
    - name: POD_UID
      valueFrom:
        fieldRef:
          fieldPath: metadata.uid
    - name: CSI_ENDPOINT
      value: unix:/csi/csi.sock
    - name: AWS_ENDPOINT_URL
      value: {{ include "s3-csi.endpointUrl" . | quote }}
    - name: AWS_REGION
      value: {{ include "s3-csi.region" . | quote }}
    {{- with include "s3-csi.storeSettings" . }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- if $tls.caCertConfigMap }}
    - name: AWS_CA_BUNDLE
      value: /etc/ssl/custom-ca/ca-bundle.crt
    {{- end }}
    {{- include "s3-csi.proxySettings" . | nindent 4 }}
  ports:
    - name: csi-healthz
      containerPort: 9810
  livenessProbe:
    httpGet:
      path: /livez
      port: csi-healthz
    initialDelaySeconds: 10
    periodSeconds: 10
    timeoutSeconds: 3
    failureThreshold: 5
  readinessProbe:
    httpGet:
      path: /healthz
      port: csi-healthz
    periodSeconds: 5
    timeoutSeconds: 3
  {{- include "s3-csi.controllerContainer" . | nindent 2 }}
  volumeMounts:
    - name: socket-dir
      mountPath: /csi
    {{- if $tls.caCertConfigMap }}
    - name: custom-ca-cert
      mountPath: /etc/ssl/custom-ca
      readOnly: true
    {{- end }}
    {{- if include "s3-csi.provisionerTokens" . }}
    - name: provisioner-tokens
      mountPath: /provisioner-tokens
      readOnly: true
    {{- end }}
{{- end }}

{{/* The csi-provisioner sidecar: watches claims, calls the CSI controller service and creates PersistentVolumes. */}}
{{- define "s3-csi.csiProvisioner" -}}
{{- $sidecar := (.Values.sidecars | default dict).csiProvisioner | default dict -}}
{{- $image := $sidecar.image | default dict -}}
{{- $repository := include "s3-csi.mirrored" (list $ $image.repository "ghcr.io/scality/mountpoint-s3-csi-driver/csi-provisioner") -}}
- name: csi-provisioner
  image: {{ printf "%s:%v" $repository ($image.tag | default "v5.3.0") }}
  imagePullPolicy: {{ $image.pullPolicy | default "IfNotPresent" }}
  args:
    - --csi-address=/csi/csi.sock
    - --v={{ include "s3-csi.controllerLogLevel" . }}
    # Longer than the driver needs to give up and report the reason: four attempts of ten seconds for each request.
    - --timeout=120s
    # Retry within a minute after a store was down, not within five.
    - --retry-interval-max=60s
    # With the defaults, 5 and 10, 200 claims would wait for minutes.
    - --kube-api-qps=50
    - --kube-api-burst=100
    # Sends name and namespace of the claim, which bucket names and tags may contain.
    - --extra-create-metadata
    - --leader-election
    - --leader-election-namespace=$(POD_NAMESPACE)
    - --http-endpoint=:9811
    {{- if not (include "s3-csi.provisionerMetrics" .) }}
    # csi-provisioner has one port for health and metrics. This path turns metrics off, because it starts with a host that no request has.
    - --metrics-path=^/metrics
    {{- end }}
  env:
    - name: POD_NAMESPACE
      valueFrom:
        fieldRef:
          fieldPath: metadata.namespace
  ports:
    - name: prov-healthz
      containerPort: 9811
  livenessProbe:
    httpGet:
      path: /healthz/leader-election
      port: prov-healthz
    initialDelaySeconds: 10
    periodSeconds: 20
    timeoutSeconds: 10
    failureThreshold: 3
  # csi-provisioner serves its port once it has found the driver, and fails the check if it leads and cannot renew its lease.
  readinessProbe:
    httpGet:
      path: /healthz/leader-election
      port: prov-healthz
    periodSeconds: 5
    timeoutSeconds: 3
  {{- include "s3-csi.controllerSecurity" . | nindent 2 }}
  resources:
    {{- if $sidecar.resources }}
    {{- toYaml $sidecar.resources | nindent 4 }}
    {{- else }}
    {{- include "s3-csi.controllerResources" . | nindent 4 }}
    {{- end }}
  volumeMounts:
    - name: socket-dir
      mountPath: /csi
{{- end }}

{{/* "false" if the driver's credentials are never used instead of those that a class or volume should name. Stored values of 2.x do not have it. */}}
{{- define "s3-csi.fallbackToDriverCredentials" -}}
{{- ternary true .Values.s3CredentialSecret.fallback (kindIs "invalid" .Values.s3CredentialSecret.fallback) }}
{{- end }}

{{/* Not empty if provisioner Secrets are kept until their volumes are deleted. Stored values of 2.x do not have it. */}}
{{- define "s3-csi.protectsSecrets" -}}
{{- if ne (toString .Values.controller.protectSecrets) "false" }}true{{ end }}
{{- end }}

{{/* Name of the ConfigMap with the records of protected Secrets. */}}
{{- define "s3-csi.protectedSecrets" -}}
s3-csi-protected-secrets
{{- end }}

{{/* Proxy for the object store. */}}
{{- define "s3-csi.proxySettings" -}}
{{- range $name, $variable := dict "httpsProxy" "HTTPS_PROXY" "httpProxy" "HTTP_PROXY" "noProxy" "NO_PROXY" }}
{{- with get ($.Values.mountpointPod.proxy | default dict) $name }}
- name: MOUNTPOINT_{{ $variable }}
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
