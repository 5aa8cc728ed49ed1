/** Credential files of the driver 1.x in the plugin's directory on the host, which its mount-s3 reads (contract 2.4, 2.6). */
import type { PodUid, VolumeId } from "../../core/names.ts";
import { Directory } from "../../linux/directory.ts";
import { unlessErrno } from "../../runtime/errno.ts";
import type { Credentials } from "../../s3/credentials.ts";
import { legacyProfileName, staticProfile, workloadOfFile } from "../credentials/profile.ts";
import { pluginDir } from "../domain/target-path.ts";

export interface V1Volume {
  readonly workload: PodUid;
  readonly volumeId: VolumeId;
}

export interface V1Files {
  /** Writes the files whose content changed. */
  keep(volume: V1Volume, credentials: Credentials): void;
  remove(volume: V1Volume): void;
  /** Removes the files of workloads for which `isUsed` is false. Returns the removed names. */
  removeUnless(isUsed: (workload: PodUid) => boolean): readonly string[];
}

/** mount-s3 of the driver 1.x runs as root. */
const mode = 0o600;

export function v1FilesIn(kubeletDir: string): V1Files {
  const open = () => openOrNone(pluginDir(kubeletDir));
  return {
    keep: ({ workload, volumeId }, credentials) => {
      using directory = open();
      const { files } = staticProfile(legacyProfileName(workload, volumeId), credentials);
      for (const [name, content] of Object.entries(files)) {
        if (directory?.readTail(name, Buffer.byteLength(content) + 1) !== content)
          directory?.write(name, content, mode);
      }
    },
    remove: ({ workload, volumeId }) => {
      using directory = open();
      for (const end of ["config", "credentials"]) directory?.remove(`${legacyProfileName(workload, volumeId)}-${end}`);
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

/** The plugin directory does not exist if the driver was never registered. */
function openOrNone(path: string): Directory | undefined {
  return unlessErrno(["ENOENT"], () => Directory.open(path));
}
