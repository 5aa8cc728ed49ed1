/** Emits events on workloads whose mount-s3 died: VolumeHealed and VolumeNotHealed. */
import { DriverError } from "../../core/errors.ts";
import { eventCatalogue } from "../../core/failures/event-catalogue.ts";
import type { PodName } from "../../core/names.ts";
import type { Happening } from "../../kube/event-writer.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { Call } from "../../runtime/call.ts";
import { describeError } from "../../runtime/log.ts";
import type { LocalMountpointPod, MountpointPods } from "../cluster/mountpoint-pods.ts";
import type { MountRecords } from "../records/mount-records.ts";
import type { DeadDevice } from "../source/dead-devices.ts";
import { emitOnUsers } from "./emit-on-users.ts";
import type { HealReports } from "./heal.ts";

interface Needed {
  readonly records: MountRecords;
  readonly mountpointPods: MountpointPods;
}

/** Most mounts are healed within this time and get no VolumeNotHealed event. */
const silentMs = 3000;

export function healEvents(node: Needed, events: Pick<EventRecorder, "record">): HealReports {
  const gone = new GoneMountpointPods(node);
  const emit = (call: Call, targets: readonly string[], happening: Happening) =>
    emitOnUsers(call, { records: node.records, events }, targets, happening);
  return {
    healed: (call, { dead, targets, awayMs }) => {
      const report = async () => {
        const why = await causeOf(call, node, dead, gone);
        const message = `mount-s3 ended (${why}); the volume was away for ${(awayMs / 1000).toFixed(1)} s and works again`;
        emit(call, targets, { reason: "VolumeHealed", message, fix: advice });
      };
      report().catch(() => undefined); // rejects only when the program ends
    },
    delayed: (call, { dead, targets, because }) => {
      if (Date.now() - dead.since.getTime() < silentMs) return;
      const { hint = eventCatalogue.VolumeNotHealed.fix } = because instanceof DriverError ? because : {};
      const message = `mount-s3 ended, and files give ENOTCONN (Transport endpoint is not connected): ${describeError(because)}`;
      emit(call, targets, { reason: "VolumeNotHealed", message, fix: hint });
    },
  };
}

const advice =
  "Files that were open then give errors until they are opened again, and a file that was being written is lost.";

const deletedPodsLimit = 100;

/** The last state of deleted Mountpoint Pods, which shows why their containers terminated. */
class GoneMountpointPods {
  readonly #pods = new Map<PodName, LocalMountpointPod>();

  constructor({ mountpointPods }: Needed) {
    mountpointPods.store.subscribe(({ before, after }) => {
      if (before === undefined || after !== undefined) return;
      this.#pods.set(before.name, before);
      const { value: oldest } = this.#pods.keys().next();
      if (this.#pods.size > deletedPodsLimit && oldest !== undefined) this.#pods.delete(oldest);
    });
  }

  get(name: PodName): LocalMountpointPod | undefined {
    return this.#pods.get(name);
  }
}

/** No call waits for an event, and a busy kubelet reports a termination late. */
const terminationLimitMs = 60_000;

async function causeOf(
  call: Call,
  { mountpointPods }: Needed,
  { mountpointPod: name, since }: DeadDevice,
  gone: GoneMountpointPods,
): Promise<string> {
  if (name === undefined) return "while the node plugin was away";
  const where = `in Mountpoint Pod ${name}`;
  // kubelet reports the termination of a container after a second or two.
  if (mountpointPods.get(name)?.phase === "running") {
    await mountpointPods.waitForTerminationMessage(call, name, new Date(since.getTime() - 1000), terminationLimitMs);
  }
  const now = mountpointPods.get(name);
  const pod = now ?? gone.get(name);
  if (pod !== undefined && pod.explanation !== "") return `${pod.explanation}, ${where}`;
  if (now === undefined) return `its Mountpoint Pod ${name} was deleted`;
  return `${endOf(now)}${where}`;
}

function endOf({ lastTermination }: LocalMountpointPod): string {
  return lastTermination?.exitCode === undefined
    ? ""
    : `${lastTermination.reason ?? "Error"}, exit code ${lastTermination.exitCode}, `;
}
