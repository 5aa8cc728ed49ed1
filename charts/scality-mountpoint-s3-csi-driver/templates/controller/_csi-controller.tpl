{{/* The CSI controller service: makes and deletes the buckets of dynamic volumes. */}}
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
    {{- end }}
    {{- with .Values.s3CredentialSecret }}
    # Keys are read through the API, so that they are in no environment and a new one needs no restart.
    - --credentials-secret={{ $.Release.Namespace }}/{{ .name }}
    - --access-key-id-field={{ .accessKeyId }}
    - --secret-access-key-field={{ .secretAccessKey }}
    - --session-token-field={{ .sessionToken }}
    {{- end }}
    {{- if eq (include "s3-csi.fallbackToDriverKeys" .) "false" }}
    - --no-driver-credentials-fallback
    {{- end }}
    {{- if include "s3-csi.protectsSecrets" . }}
    - --protected-secrets={{ .Release.Namespace }}/{{ include "s3-csi.protectedSecrets" . }}
    {{- end }}
  env:
    - name: CSI_CONTROLLER_ONLY
      value: "true"
    # Where it reports buckets that no volume leads to.
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
{{- end }}

{{/* The standard sidecar: watches claims, asks the CSI controller service for volumes and makes the PersistentVolumes. */}}
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
    # Longer than the driver takes to give up by itself: four attempts of ten seconds for each request, and a reason.
    - --timeout=120s
    # A store that was away is tried again within a minute, not within five.
    - --retry-interval-max=60s
    # The defaults, 5 and 10, would let 200 claims wait for minutes.
    - --kube-api-qps=50
    - --kube-api-burst=100
    # Names of buckets and tags can be made from those of the claim.
    - --extra-create-metadata
    - --leader-election
    - --leader-election-namespace=$(POD_NAMESPACE)
    - --http-endpoint=:9811
    {{- if not (include "s3-csi.metrics" .) }}
    # It has one port for health and metrics. A path may begin with a host, and this is one that no request can have.
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
  # It serves its port when it has found the driver, and says no when it should be leading and could not renew its lease.
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

{{/* "false" if keys of the driver never stand in for those that a class or volume should have brought. Values of 2.x have none. */}}
{{- define "s3-csi.fallbackToDriverKeys" -}}
{{- ternary true .Values.s3CredentialSecret.fallback (kindIs "invalid" .Values.s3CredentialSecret.fallback) }}
{{- end }}

{{/* Whether provisioner Secrets are kept until their volumes are deleted. Values of 2.x do not say. */}}
{{- define "s3-csi.protectsSecrets" -}}
{{- if ne (toString .Values.controller.protectSecrets) "false" }}true{{ end }}
{{- end }}

{{/* The ConfigMap with the record of them. */}}
{{- define "s3-csi.protectedSecrets" -}}
s3-csi-protected-secrets
{{- end }}

{{/* The way to the object store. */}}
{{- define "s3-csi.proxySettings" -}}
{{- range $name, $variable := dict "httpsProxy" "HTTPS_PROXY" "httpProxy" "HTTP_PROXY" "noProxy" "NO_PROXY" }}
{{- with get ($.Values.mountpointPod.proxy | default dict) $name }}
- name: MOUNTPOINT_{{ $variable }}
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
