/** Pods that are no business of the driver's, many at a time, in a real API server. */
import type { KubeClient } from "../../src/kube/client/client.ts";
import { type KubeObject, kinds } from "../../src/kube/kinds.ts";
import type { Call } from "../../src/runtime/call.ts";
import { inParallel } from "./in-parallel.ts";

export interface ForeignPods {
  readonly namespace: string;
  readonly prefix: string;
  readonly count: number;
  /** Each with a claim of its own. */
  readonly claims: boolean;
  /** Of an annotation, on top of about 2 KB. */
  readonly paddingBytes: number;
}

/** No scheduler looks at them, so they stay as they are. */
export async function createForeignPods(call: Call, client: KubeClient, wish: ForeignPods): Promise<void> {
  const names = Array.from({ length: wish.count }, (_, number) => `${wish.prefix}-${number}`);
  await inParallel(names, (name) => createForeignPod(call, client, { ...wish, name }));
}

export async function createForeignPod(
  call: Call,
  client: KubeClient,
  { namespace, name, claims, paddingBytes }: Omit<ForeignPods, "prefix" | "count"> & { readonly name: string },
): Promise<KubeObject["metadata"]> {
  // Of each its own, as the texts of different Pods are.
  const padding = name.repeat(Math.ceil(paddingBytes / name.length)).slice(0, paddingBytes);
  const { metadata } = await client.create(call, kinds.pods, {
    metadata: { name, namespace, annotations: { "example.com/padding": padding } },
    spec: {
      schedulerName: "nobody",
      containers: [{ name: "app", image: "app", env: [{ name: "NAME", value: name }] }],
      volumes: [
        { name: "scratch", emptyDir: {} },
        ...(claims ? [{ name: "data", persistentVolumeClaim: { claimName: `${name}-data` } }] : []),
      ],
    },
  } as { metadata: { name: string } });
  return metadata;
}

/** One by one: a request to delete very many at once takes longer than the API server grants to a request. */
export async function deletePodsIn(call: Call, client: KubeClient, namespace: string): Promise<void> {
  const pods = (await client.list(call, kinds.pods, { namespace })).map(({ metadata }) => metadata);
  await inParallel(pods, (metadata) => client.delete(call, kinds.pods, metadata, { uid: metadata.uid }));
}
