{{/*
Metadata of every object of a hook: (list $ HOOKS WEIGHT). A failed Job stays, so that its log can be read; the next attempt
removes it.
*/}}
{{- define "s3-csi.hookMetadata" -}}
labels:
  {{- include "s3-csi.labels" (index . 0) | nindent 2 }}
annotations:
  helm.sh/hook: {{ index . 1 }}
  helm.sh/hook-weight: {{ index . 2 | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{/* The ServiceAccount of a hook, which exists only while the hook runs: (list $ HOOKS NAME). */}}
{{- define "s3-csi.hookAccount" -}}
{{- $ := index . 0 -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "s3-csi.scopedName" (list $ (index . 2)) }}
  namespace: {{ $.Release.Namespace }}
  {{- include "s3-csi.hookMetadata" (list $ (index . 1) "-2") | nindent 2 }}
{{- end }}

{{/* The rights of a hook in a namespace, or in the whole cluster with "": (list $ HOOKS NAME RULES NAMESPACE). */}}
{{- define "s3-csi.hookRights" -}}
{{- $ := index . 0 -}}
{{- $name := include "s3-csi.scopedName" (list $ (index . 2)) -}}
{{- $namespace := index . 4 -}}
{{- $role := ternary "Role" "ClusterRole" (ne $namespace "") -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role }}
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  {{- include "s3-csi.hookMetadata" (list $ (index . 1) "-2") | nindent 2 }}
rules:
  {{- index . 3 | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role }}Binding
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  {{- include "s3-csi.hookMetadata" (list $ (index . 1) "-1") | nindent 2 }}
subjects:
  - kind: ServiceAccount
    name: {{ $name }}
    namespace: {{ $.Release.Namespace }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $role }}
  name: {{ $name }}
{{- end }}

{{/* The Job of a hook, which runs the driver's image: (list $ HOOKS NAME ARGUMENTS CONFIGMAP WEIGHT). */}}
{{- define "s3-csi.hookJob" -}}
{{- $ := index . 0 -}}
{{- $name := include "s3-csi.scopedName" (list $ (index . 2)) -}}
{{- $configMap := index . 4 -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $name }}
  namespace: {{ $.Release.Namespace }}
  {{- include "s3-csi.hookMetadata" (list $ (index . 1) (index . 5)) | nindent 2 }}
spec:
  backoffLimit: 0
  template:
    metadata:
      labels:
        app: {{ $name }}
    spec:
      serviceAccountName: {{ $name }}
      restartPolicy: Never
      {{- with $.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      nodeSelector:
        kubernetes.io/os: linux
        {{- with $.Values.controller.nodeSelector }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $.Values.controller.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: setup
          image: {{ include "s3-csi.image" $ }}
          imagePullPolicy: {{ $.Values.image.pullPolicy }}
          command: [/bin/scality-s3-csi-setup]
          args:
            {{- toYaml (index . 3) | nindent 12 }}
          {{- include "s3-csi.controllerContainer" $ | nindent 10 }}
          {{- if $configMap }}
          volumeMounts:
            - name: definition
              mountPath: /etc/s3-csi
              readOnly: true
      volumes:
        - name: definition
          configMap:
            name: {{ $name }}
          {{- end }}
{{- end }}
