/** Starts MinIO in a running lab, with the lab's API server as the issuer of the tokens that its STS accepts. */
import { copyFile, mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Lab } from "./lab.ts";
import { minioFiles } from "./minio.ts";
import { MinioAdmin } from "./minio-admin.ts";
import type { Progress } from "./progress.ts";
import { minioAccount, minioEndpoint } from "./s3.ts";

/** `programs` is the directory of the built programs. Returns when users and policies can be made. */
export async function startMinio(
  signal: AbortSignal,
  lab: Lab,
  programs: string,
  progress: Progress,
): Promise<MinioAdmin> {
  return await progress.task("start MinIO", async () => {
    await prepare(lab, programs);
    // MinIO reads what describes the issuer without credentials, and knows no users before it has read it.
    await lab.kubectl(["apply", "-f", "-"], { signal, input: JSON.stringify(discoveryForEverybody) });
    const server = lab.component("minio");
    for (const component of [server, lab.component("minio-relay")]) await component.start(signal);
    const admin = minioAdminOf(lab);
    while (!(await admin.isReady(signal))) {
      if (server.process === undefined) throw new Error(`MinIO ended: ${server.log().trim()}`);
      await delay(100, undefined, { signal });
    }
    return admin;
  });
}

/** With it go its buckets, users and policies. Nothing there is fine, too. */
export async function stopMinio(signal: AbortSignal, lab: Lab): Promise<void> {
  for (const name of ["minio-relay", "minio"]) await lab.component(name).kill(signal);
  await rm(minioFiles(lab.layout).data, { recursive: true, force: true });
  const { kind, metadata } = discoveryForEverybody;
  await lab.kubectl(["delete", kind, metadata.name, "--ignore-not-found"], { signal });
}

function minioAdminOf(lab: Lab): MinioAdmin {
  const { programs, home } = minioFiles(lab.layout);
  return new MinioAdmin({
    url: minioEndpoint,
    account: minioAccount,
    client: join(programs, "mc"),
    home,
    reach: (argv) => lab.inNetwork(argv),
  });
}

async function prepare({ layout }: Lab, programs: string): Promise<void> {
  const files = minioFiles(layout);
  const authorities = join(files.certificates, "CAs");
  for (const directory of [files.data, authorities, files.home]) await mkdir(directory, { recursive: true });
  await copyFile(join(layout.pki, "ca.crt"), join(authorities, "ca.crt"));
  await rm(files.programs, { force: true });
  await symlink(programs, files.programs);
}

const discoveryForEverybody = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "lab-service-account-issuer-discovery" },
  roleRef: {
    apiGroup: "rbac.authorization.k8s.io",
    kind: "ClusterRole",
    name: "system:service-account-issuer-discovery",
  },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:unauthenticated" }],
};
