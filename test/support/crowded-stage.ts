/** Many workloads that come and go on a stage, a kubelet for them all, and an eye on the rules that must always hold. */
import { kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import { Store } from "../../src/kube/watch/store.ts";
import { watch } from "../../src/kube/watch/watch.ts";
import { below, oneOf } from "./random.ts";
import { ifItIsThere, isMarked, type Stage, servedBy } from "./stage.ts";

export class CrowdedStage implements AsyncDisposable {
  /** What happened to an attachment although it never may. */
  readonly violations: string[] = [];
  readonly #stage: Stage;
  readonly #claims: readonly string[];
  /** By UID; one that is about to end is not among them any more. */
  readonly #live = new Map<string, Pod>();
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;
  readonly #reading: Promise<void>[] = [];
  #count = 0;

  private constructor(stage: Stage, claims: readonly string[]) {
    this.#stage = stage;
    this.#claims = claims;
    this.#watching = this.#watch();
  }

  static async open(stage: Stage): Promise<CrowdedStage> {
    return new CrowdedStage(stage, [await stage.volume(), await stage.volume()]);
  }

  /** One thing that users, kubelet or bad luck may do. */
  async change(): Promise<void> {
    const chance = below(100);
    if (chance < 50 || this.#live.size === 0) await this.#come();
    else if (chance < 85) await this.#end();
    else if (chance < 95) await this.#start();
    else await this.#kill();
  }

  /** Every workload ends. */
  async leave(): Promise<void> {
    const all = [...this.#live.values()];
    this.#live.clear();
    await Promise.all(all.map((workload) => this.#stage.deletePod(workload)));
  }

  /** Why this is not yet how it should be, in words; empty when it is. Plays kubelet first. */
  async unsettled(): Promise<readonly string[]> {
    await this.#stage.playKubelet();
    const [attachments, pods] = [await this.#stage.attachments(), await this.#stage.mountpointPods()];
    const serving = new Map(pods.filter(serves).map((pod) => [pod.metadata.name, pod]));
    const lists = attachments.flatMap((attachment) => Object.entries(servedBy(attachment)));
    const listed = lists.flatMap(([, uids]) => uids);
    return [
      ...lists.filter(([name]) => !serving.has(name)).map(([name]) => `${name} is listed and does not serve`),
      ...listed.filter((uid) => !this.#live.has(uid)).map((uid) => `${uid} is listed and has ended`),
      ...[...this.#live.keys()].filter((uid) => !listed.includes(uid)).map((uid) => `${uid} is not served`),
    ];
  }

  /** What is there although nobody needs it. */
  async leftovers(): Promise<readonly string[]> {
    await this.#stage.playKubelet();
    const all = [...(await this.#stage.attachments()), ...(await this.#stage.mountpointPods())];
    return all.map(({ metadata }) => metadata.name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await Promise.allSettled(this.#reading);
  }

  async #come(): Promise<void> {
    const { node, otherNode } = this.#stage;
    this.#count += 1;
    const workload = await this.#stage.workload(`workload-${this.#count}`, {
      claims: [oneOf(this.#claims) ?? ""],
      node: below(10) < 7 ? node : otherNode,
      ...(below(10) < 4 && { fsGroup: 2000 }),
    });
    this.#live.set(workload.metadata.uid, workload);
  }

  async #end(): Promise<void> {
    const all = [...this.#live.values()];
    // Often the latest, for which a reconciler that has just died may have done half of its work.
    const workload = below(2) === 0 ? all.at(-1) : oneOf(all);
    if (workload === undefined) return;
    this.#live.delete(workload.metadata.uid);
    if (below(3) === 0) await this.#stage.phase(workload, "Succeeded");
    else await this.#stage.deletePod(workload);
  }

  /** kubelet starts no container before the volume is mounted, and that takes an entry in an attachment. */
  async #start(): Promise<void> {
    const served = new Set((await this.#stage.attachments()).flatMap(uidsIn));
    const workload = oneOf([...this.#live.values()].filter(({ metadata }) => served.has(metadata.uid)));
    if (workload !== undefined) await ifItIsThere(this.#stage.phase(workload, "Running"));
  }

  async #kill(): Promise<void> {
    const pod = oneOf((await this.#stage.mountpointPods()).filter(serves));
    if (pod === undefined) return;
    const failed = below(2) === 0;
    await ifItIsThere(failed ? this.#stage.phase(pod, "Failed") : this.#stage.deletePod(pod));
  }

  async #watch(): Promise<void> {
    const call = { signal: this.#stop.signal, log: this.#stage.call.log };
    const store = new Store<MountpointS3PodAttachment>({});
    store.subscribe(({ before, after }) => this.#check(store, before, after));
    const keep = ({ spec }: MountpointS3PodAttachment) => spec.persistentVolumeName.startsWith(this.#stage.name);
    await watch(call, this.#stage.client, { kind: kinds.attachments, keep, trim: asItIs }, store);
  }

  /** DS-7. A mark is never taken away: one that is missing now was missing when the Pod was dropped. */
  async #checkDropped(name: string): Promise<void> {
    const pod = await this.#stage.mountpointPod(name);
    if (pod !== undefined && !isMarked(pod)) this.violations.push(`${name} was dropped without a mark`);
  }

  #check(
    store: Store<MountpointS3PodAttachment>,
    before: MountpointS3PodAttachment | undefined,
    after: MountpointS3PodAttachment | undefined,
  ): void {
    if (before !== undefined && after === undefined) {
      const lost = uidsIn(before).filter((uid) => this.#live.has(uid));
      if (lost.length > 0) this.violations.push(`the attachment of ${lost.join(", ")} was deleted`);
    }
    const dropped = podsIn(before).filter((name) => ![...store.values()].some((other) => podsIn(other).includes(name)));
    for (const name of dropped) this.#reading.push(this.#checkDropped(name));
    const listed = [...store.values()].flatMap(uidsIn);
    if (new Set(listed).size < listed.length) this.violations.push(`a workload is listed twice: ${listed.join(", ")}`);
    const keys = [...store.values()].map(keyOf);
    if (new Set(keys).size < keys.length) this.violations.push(`two attachments for one key: ${keys.join(", ")}`);
  }
}

const asItIs = (attachment: MountpointS3PodAttachment) => attachment;

function serves(pod: Pod): boolean {
  return !isMarked(pod) && ["Pending", "Running"].includes(pod.status?.phase ?? "");
}

function podsIn(attachment: MountpointS3PodAttachment | undefined): readonly string[] {
  return attachment === undefined ? [] : Object.keys(servedBy(attachment));
}

function uidsIn(attachment: MountpointS3PodAttachment): readonly string[] {
  return Object.values(servedBy(attachment)).flat();
}

function keyOf({ spec }: MountpointS3PodAttachment): string {
  return [spec.nodeName, spec.persistentVolumeName, spec.workloadFSGroup].join("/");
}
