/** Pure: the Pod that measures a volume, as small and as restricted as a Pod can be. */
import { type BenchPlan, volumeBenchCommand } from "../../core/volume-bench.ts";
import type { BenchIdentity } from "./bench-request.ts";

export const benchMountPath = "/volume";
/** Admission webhooks may add others to the Pod. */
export const benchContainer = "bench";

/** The kubelet ends the Pod then, if nobody has deleted it. */
const limitSeconds = 900;
/** For the program to remove what it wrote. */
const graceSeconds = 60;

export interface BenchPodRequest {
  readonly name: string;
  readonly namespace: string;
  readonly claim: string;
  readonly image: string;
  readonly identity: BenchIdentity;
  readonly plan: BenchPlan;
  /** The only node that will do. */
  readonly node: string | undefined;
  /** Nodes on which the volume is mounted already: better than others, because users measure what they have. */
  readonly nodesInUse: readonly string[];
}

export function benchPod(request: BenchPodRequest) {
  const { name, namespace, claim, image, identity, plan } = request;
  const { user, fsGroup } = identity;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { app: "s3-csi-bench" } },
    spec: {
      restartPolicy: "Never",
      activeDeadlineSeconds: limitSeconds,
      terminationGracePeriodSeconds: graceSeconds,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...affinity(request),
      securityContext: {
        ...{ runAsNonRoot: true, runAsUser: user, runAsGroup: user },
        ...(fsGroup !== undefined && { fsGroup }),
        seccompProfile: { type: "RuntimeDefault" },
      },
      containers: [
        {
          name: benchContainer,
          image,
          command: [volumeBenchCommand],
          args: [JSON.stringify(plan)],
          resources: { requests: { cpu: "10m", memory: "64Mi" }, limits: { memory: "256Mi" } },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          },
          volumeMounts: [{ name: "volume", mountPath: benchMountPath, readOnly: plan.directory === undefined }],
        },
      ],
      volumes: [{ name: "volume", persistentVolumeClaim: { claimName: claim } }],
    },
  };
}

/** By the name of the Node object: its label for the host may have another value. */
function affinity({ node, nodesInUse }: BenchPodRequest): object {
  if (node !== undefined)
    return {
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [on(node)] } },
      },
    };
  const preferred = nodesInUse.map((name) => ({ weight: 100, preference: on(name) }));
  return preferred.length === 0
    ? {}
    : { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } } };
}

function on(name: string): object {
  return { matchFields: [{ key: "metadata.name", operator: "In", values: [name] }] };
}
