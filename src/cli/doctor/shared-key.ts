/** The five fields by which 2.x tells attachments apart. */
import type { AttachmentSpec } from "../../core/attachment.ts";

export function sharedKey(spec: AttachmentSpec): string {
  const { nodeName, persistentVolumeName, volumeID, mountOptions, workloadFSGroup } = spec;
  return JSON.stringify([nodeName, persistentVolumeName, volumeID, mountOptions, workloadFSGroup]);
}
