{{/* The Pod Reconciler: creates and deletes Mountpoint Pods and attachments. */}}
{{- define "s3-csi.podReconciler" -}}
- name: s3-pod-reconciler
  image: {{ include "s3-csi.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [/bin/scality-csi-controller]
  args:
    - --health-port=9809
    - --require-lease
    {{- if include "s3-csi.metrics" . }}
    - --metrics
    {{- if include "s3-csi.metricsAuthorization" . }}
    - --metrics-authorization
    {{- end }}
    {{- end }}
    {{- if include "s3-csi.podIdentity" . }}
    - --pod-identity
    {{- end }}
    - --v={{ include "s3-csi.controllerLogLevel" . }}
  env:
    # Identity and namespace for leader election.
    - name: POD_NAME
      valueFrom:
        fieldRef:
          fieldPath: metadata.name
    - name: POD_NAMESPACE
      valueFrom:
        fieldRef:
          fieldPath: metadata.namespace
    # Events about the rollout are on this Pod.
    - name: POD_UID
      valueFrom:
        fieldRef:
          fieldPath: metadata.uid
    # Volumes may name a store by its address.
    - name: AWS_ENDPOINT_URL
      value: {{ include "s3-csi.endpointUrl" . | quote }}
    - name: AWS_REGION
      value: {{ include "s3-csi.region" . | quote }}
    {{- with include "s3-csi.storeSettings" . }}
    {{- . | nindent 4 }}
    {{- end }}
    - name: MOUNTPOINT_NAMESPACE
      value: {{ .Values.mountpointPod.namespace | quote }}
    - name: MOUNTPOINT_IMAGE
      value: {{ include "s3-csi.image" . | quote }}
    - name: MOUNTPOINT_IMAGE_PULL_POLICY
      value: {{ .Values.image.pullPolicy | quote }}
    - name: MOUNTPOINT_PRIORITY_CLASS_NAME
      value: {{ .Values.mountpointPod.priorityClassName | quote }}
    {{- include "s3-csi.mountpointPodSettings" . | nindent 4 }}
    {{- with include "s3-csi.rolloutSettings" . }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with include "s3-csi.headroomSettings" . }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with include "s3-csi.warmSettings" . }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- include "s3-csi.caSettings" . | nindent 4 }}
    {{- with .Values.node.mountpointVersion }}
    - name: MOUNTPOINT_VERSION
      value: {{ . | quote }}
    {{- end }}
  ports:
    - name: healthz
      containerPort: 9809
  livenessProbe:
    httpGet:
      path: /livez
      port: healthz
    initialDelaySeconds: 10
    periodSeconds: 10
    timeoutSeconds: 3
    failureThreshold: 5
  readinessProbe:
    httpGet:
      path: /healthz
      port: healthz
    periodSeconds: 5
    timeoutSeconds: 3
  {{- include "s3-csi.controllerContainer" . | nindent 2 }}
{{- end }}
