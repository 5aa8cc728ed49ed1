/** `kubectl s3 support-bundle`: what a support engineer needs, in one file, without credentials. */
import { writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { stringify } from "yaml";
import type { Pod } from "../../topology/objects.ts";
import { diagnose } from "../doctor/diagnose.ts";
import type { Installation, SecretState } from "../doctor/installation.ts";
import { readInstallation } from "../doctor/read-installation.ts";
import { secondsOf } from "../duration.ts";
import { styleFor } from "../output/style.ts";
import type { Session } from "../program.ts";
import { redactedObject, redactedText } from "../redact.ts";
import { doctorText } from "./doctor.ts";
import { driverPods, partiesOf, readLog } from "./logs.ts";
import { treeText } from "./tree.ts";

interface BundleFile {
  readonly name: string;
  readonly text: string;
}

export async function supportBundleCommand(
  { signal, api, options, terminal }: Session,
  { file, since }: { readonly file: string; readonly since: string },
): Promise<void> {
  const seconds = secondsOf(since, "--since");
  const request = { signal, api, scope: options };
  const installation = await terminal.progress("reading the cluster", readInstallation(request));
  const pods = await driverPods(signal, api, installation.cluster.namespaces.driver);
  const parties = partiesOf(installation.topology.volumes, pods);
  const reads = Promise.all(parties.map((party) => readLog(signal, api, party, seconds)));
  const logs = await terminal.progress("reading logs", reads);
  const files = [
    ...objectFiles(installation),
    ...logs.map(({ party, text, missing }) => ({
      name: `logs/${party.pod}-${party.container}.log`,
      text: redactedText(missing ?? text),
    })),
  ];
  await writeFile(file, await archived(files), { mode: 0o600 });
  terminal.print(
    `${file}: ${files.length} files. Look through it before you send it: names of buckets, claims and Pods are in it.\n`,
  );
}

/** Pure. Secrets are not in what was read: only the names of their keys are. */
function objectFiles(installation: Installation): readonly BundleFile[] {
  const { cluster, topology, events, nodes, classes, driverPods: drivers } = installation;
  const findings = diagnose(installation);
  const plain = styleFor(false, undefined);
  const objects: Readonly<Record<string, unknown>> = {
    volumes: cluster.volumes,
    claims: cluster.claims.filter(({ spec }) =>
      cluster.volumes.some(({ metadata }) => metadata.name === spec.volumeName),
    ),
    attachments: cluster.attachments,
    "mountpoint-pods": cluster.mountpointPods,
    workloads: cluster.workloads.map(outlineOf),
    "driver-pods": drivers,
    deployment: installation.deployment,
    daemonset: installation.daemonSet,
    csidriver: installation.csiDriver,
    definition: installation.definition,
    storageclasses: classes,
    nodes,
    events,
    lease: installation.lease,
    rights: installation.rights,
    secrets: [...installation.secrets].map(secretOutline),
    versions: { kubernetes: installation.serverVersion, readAt: topology.readAt },
    "not-readable": installation.unreadable,
  };
  return [
    { name: "doctor.txt", text: redactedText(doctorText(findings, installation.unreadable, plain)) },
    { name: "tree.txt", text: redactedText(treeText(topology, plain)) },
    ...Object.entries(objects).map(([name, value]) => ({
      name: `objects/${name}.yaml`,
      text: stringify(redactedObject(value)),
    })),
  ];
}

function secretOutline([name, secret]: readonly [string, SecretState]): object {
  return { name, state: secret.state, keys: secret.state === "found" ? [...secret.keys] : [] };
}

/** Of the user's Pods only what concerns mounts: their environment is nobody's business. */
function outlineOf({ metadata, spec, status }: Pod): object {
  const { name, namespace, uid, creationTimestamp, deletionTimestamp } = metadata;
  return {
    metadata: { name, namespace, uid, creationTimestamp, deletionTimestamp },
    spec: { nodeName: spec.nodeName, volumes: spec.volumes },
    status: { phase: status?.phase, conditions: status?.conditions },
  };
}

async function archived(files: readonly BundleFile[]): Promise<Uint8Array> {
  const entries = files.map(({ name, text }) => {
    const body = Buffer.from(text);
    return { header: { name: `s3-csi-support/${name}`, size: body.length, type: "file" as const }, body };
  });
  return gzipSync(await packTar(entries));
}
