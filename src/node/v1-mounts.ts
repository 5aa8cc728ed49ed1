/**
 * Mounts of the driver 1.x: systemd runs mount-s3 on the host, straight on the target. They stay as they are until their
 * workload restarts, and their keys are files in the plugin's directory (contract 1.12, 2.11).
 */
import type { PodUid, VolumeId } from "../core/names.ts";
import { pluginDir } from "../core/target-path.ts";
import { Directory } from "../linux/directory.ts";
import type { Mount } from "../linux/mountinfo.ts";
import type { Call } from "../runtime/call.ts";
import { isErrno } from "../runtime/errno.ts";
import type { Keys } from "./credentials/keys.ts";
import { oldProfileName, staticProfile, workloadOfFile } from "./credentials/profile.ts";
import { isOurs, mountpointPodBehind, workloadAt } from "./mount-table.ts";
import type { NodeParts } from "./node-parts.ts";
import type { PublishIntent } from "./publish-request.ts";

type Needed = Pick<NodeParts, "config" | "kernel" | "attachments">;

/** What an attachment names is an ordinary mount, even when its source was taken away: no key of it may reach the disk. */
export function isV1Mount({ config, kernel, attachments }: Needed, mount: Mount): boolean {
  const workload = workloadAt(config.kubeletDir, mount);
  return (
    isOurs(mount) &&
    workload !== undefined &&
    mountpointPodBehind(kernel.mounts(), config.kubeletDir, mount) === undefined &&
    attachments.isUnattached(workload)
  );
}

/** Keys of a volume's own Secret are in the environment of such a mount-s3, where nobody can renew them. */
export function refreshV1({ driverKeys, v1Files }: NodeParts, { workload, volumeId, keys }: PublishIntent): void {
  const known = keys === undefined ? driverKeys.known() : undefined;
  if (known !== undefined) v1Files.keep({ workload, volumeId }, known);
}

export const restartHint = "Delete the Pod: its successor gets a Mountpoint Pod.";

/** Once, when everything about the node is known: 2.x leaves such files behind also for mounts that do not read them. */
export async function removeV1Leftovers(call: Call, node: NodeParts): Promise<void> {
  await node.attachments.store.synced(call);
  const v1 = node.kernel.mounts().filter((mount) => isV1Mount(node, mount));
  const users = new Set(v1.map((mount) => workloadAt(node.config.kubeletDir, mount)));
  try {
    const removed = node.v1Files.removeUnless((workload) => users.has(workload));
    if (removed.length > 0) call.log.info("files with keys that nobody reads are removed", { removed });
  } catch (error) {
    // Not worth a node without a driver.
    call.log.info("files with keys that nobody reads could not be removed", { error });
  }
}

export interface V1Volume {
  readonly workload: PodUid;
  readonly volumeId: VolumeId;
}

/** The files of such mounts, in the plugin's directory on the host. */
export interface V1Files {
  /** Writes what changed. */
  keep(volume: V1Volume, keys: Keys): void;
  remove(volume: V1Volume): void;
  /** Answers the names of what is gone. */
  removeUnless(isUsed: (workload: PodUid) => boolean): readonly string[];
}

/** mount-s3 of 1.x runs as root. */
const mode = 0o600;

export function v1Files(kubeletDir: string): V1Files {
  const open = () => openOrNone(pluginDir(kubeletDir));
  return {
    keep: ({ workload, volumeId }, keys) => {
      using directory = open();
      const { files } = staticProfile(oldProfileName(workload, volumeId), keys);
      for (const [name, content] of Object.entries(files)) {
        if (directory?.readTail(name, Buffer.byteLength(content) + 1) !== content)
          directory?.write(name, content, mode);
      }
    },
    remove: ({ workload, volumeId }) => {
      using directory = open();
      for (const end of ["config", "credentials"]) directory?.remove(`${oldProfileName(workload, volumeId)}-${end}`);
    },
    removeUnless: (isUsed) => {
      using directory = open();
      const unused = (directory?.names() ?? []).filter((name) => {
        const workload = workloadOfFile(name);
        return workload !== undefined && !isUsed(workload);
      });
      for (const name of unused) directory?.remove(name);
      return unused;
    },
  };
}

/** kubelet's plugin directory may be missing where nothing was ever registered. */
function openOrNone(path: string): Directory | undefined {
  try {
    return Directory.open(path);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}
