/**
 * Whose process numbers mount-s3 sees, and with that, whose close it takes for the end of a file (DS-10): the pid
 * namespace from which mount(2) is called.
 */
import { attributeRefusal, quoted } from "./attribute-refusal.ts";

/**
 * "private": none, so every close counts as the writer's. Right for threads; a forked sharer of a descriptor ends the
 * file for all, and the next write fails. "host": those of the host. Right for forks; a close by another thread than the
 * one that opened returns before the upload, and without its error.
 */
export type PidNamespace = "private" | "host";

function isPidNamespace(value: string): value is PidNamespace {
  return value === "private" || value === "host";
}

const attribute = "mountPidNamespace";

/** undefined: the choice of the installation. */
export function parsePidNamespace(raw: Readonly<Record<string, string>>): PidNamespace | undefined {
  const value = raw[attribute];
  if (!value) return undefined;
  if (isPidNamespace(value)) return value;
  throw attributeRefusal(attribute, `${quoted(value)} is not known`, 'use "private" or "host", or leave it out');
}

/** What a node plugin has to offer. */
export interface PidNamespaces {
  readonly usual: PidNamespace;
  readonly inHostPids: boolean;
}

/** A process cannot enter the pid namespace of an ancestor (setns(2) says EINVAL): the plugin must be in it already. */
export function choosePidNamespace(
  { usual, inHostPids }: PidNamespaces,
  wanted: PidNamespace | undefined,
): PidNamespace {
  const chosen = wanted ?? usual;
  if (chosen === "private" || inHostPids) return chosen;
  throw attributeRefusal(
    attribute,
    'is "host", but the node plugin does not share the pid namespace of the host',
    'use "private", or set the chart value node.hostPID to true',
  );
}
