/** What the API server sends to a node plugin in a large cluster. */

import { beforeAll, expect, it } from "vitest";
import type { NodeName } from "../../src/core/names.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { type KubeObject, kinds } from "../../src/kube/kinds.ts";
import type { Watcher } from "../../src/kube/watch/watch.ts";
import { Attachments } from "../../src/node/cluster/attachments.ts";
import { MountpointPods } from "../../src/node/cluster/mountpoint-pods.ts";
import { Progress } from "../../src/runtime/progress.ts";
import { openCluster } from "../support/cluster.ts";
import { scaled } from "../support/scale.ts";
import { installAttachmentKind, long, Stage } from "../support/stage.ts";

const cluster = openCluster();
/** Nodes of the cluster, each with one workload. */
const size = scaled("Pods of other nodes", 100, 500);

beforeAll(() => installAttachmentKind(cluster));

it("SC-1 a node is sent its own Mountpoint Pods and attachments, and none of the other nodes'", async () => {
  await using stage = await Stage.open(cluster);
  const others = Array.from({ length: size }, (_, index) => index);
  await addObjects(stage, "own", stage.node);
  for (const index of others) await addObjects(stage, `early-${index}`, stage.otherNode);
  await using seen = Sent.follow(stage);
  await expect.poll(() => seen.names, long).toEqual(namesOf(stage, "own").toSorted());

  for (const index of others) await addObjects(stage, `late-${index}`, stage.otherNode);
  await addObjects(stage, "own-late", stage.node);
  // Events come in the order of the changes: with this one, all others would have come.
  const own = ["own", "own-late"].flatMap((name) => namesOf(stage, name));
  await expect.poll(() => seen.names, long).toEqual(own.toSorted());
});

/** An attachment, and a Mountpoint Pod in it. */
async function addObjects(stage: Stage, name: string, node: string): Promise<void> {
  const [attachment, pod] = namesOf(stage, name) as [string, string];
  const { call, client, mountpointNamespace: namespace } = stage;
  await client.create(call, kinds.attachments, {
    metadata: { name: attachment },
    spec: {
      nodeName: node,
      persistentVolumeName: attachment,
      volumeID: attachment,
      mountOptions: "",
      workloadFSGroup: "",
      mountpointS3PodAttachments: { [pod]: [] },
    },
  } as { metadata: { name: string } });
  const labels = { "s3.csi.scality.com/pod-uid": name, "s3.csi.scality.com/volume-name": name };
  await client.create(call, kinds.pods, {
    metadata: { name: pod, namespace, labels },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 0,
      tolerations: [{ operator: "Exists" }],
      containers: [{ name: "mountpoint", image: "mountpoint" }],
    },
  } as { metadata: { name: string } });
}

function namesOf({ name: stage }: Stage, name: string): readonly string[] {
  return [`s3pa-${stage}-${name}`, `mp-${stage}-${name}`];
}

/** The objects that came over the wire for the node plugin's own watches, before it looks at any. */
class Sent implements AsyncDisposable {
  readonly #names = new Set<string>();
  readonly #stop = new AbortController();
  readonly #following: Promise<unknown>;

  private constructor(stage: Stage) {
    const call = { signal: this.#stop.signal, log: stage.call.log };
    const client = this.#counting(stage.client);
    const node = stage.node as NodeName;
    const progress = new Progress();
    this.#following = Promise.allSettled([
      new Attachments("").follow(call, client, node, progress),
      new MountpointPods(stage.mountpointNamespace).follow(call, client, node, progress),
    ]);
  }

  static follow(stage: Stage): Sent {
    return new Sent(stage);
  }

  /** Each once: kubelet and scheduler change what was sent already. */
  get names(): readonly string[] {
    return [...this.#names].toSorted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#following;
  }

  #counting(client: KubeClient): Watcher {
    const note = (object: unknown) => {
      const { name } = (object as KubeObject).metadata;
      if (name !== undefined) this.#names.add(name);
    };
    return {
      async *pages(call, kind, selection) {
        for await (const page of client.pages(call, kind, selection)) {
          page.objects.forEach(note);
          yield page;
        }
      },
      async watch(call, kind, selection, parameters) {
        const events = await client.watch(call, kind, selection, parameters);
        return (async function* () {
          for await (const event of events) {
            if (event.type !== "ERROR") note(event.object);
            yield event;
          }
        })();
      },
    };
  }
}
