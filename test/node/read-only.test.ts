/** Read-only is a promise of the kernel, made for each workload by itself. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import type { MountpointS3PodAttachment } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef, type PodWish, type VolumeWish } from "../support/cluster.ts";

const cluster = openCluster();
const node = "worker-1";
const writable = { mountOptions: ["allow-delete", "allow-overwrite", "allow-other"] };

interface Route {
  readonly route: string;
  readonly volume: VolumeWish;
  readonly pod: PodWish;
}

const routes: readonly Route[] = [
  { route: "the access mode ReadOnlyMany", volume: { ...writable, accessMode: "ReadOnlyMany" }, pod: {} },
  { route: "readOnly in the PersistentVolume", volume: { ...writable, csi: { readOnly: true } }, pod: {} },
  { route: "readOnly in the Pod", volume: writable, pod: { readOnly: true } },
  {
    route: "the mount option read-only",
    volume: { mountOptions: [...writable.mountOptions, "read-only"] },
    pod: {},
  },
];

it.for(routes)("DS-1 by $route: writing, making a directory and deleting give EROFS", async ({ volume, pod }) => {
  await using sandbox = await cluster.sandbox();
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: "there.txt", Body: "there\n" }));
  const claim = await sandbox.volume(volume);
  const reader = await sandbox.pod("reader", { ...pod, node, claim });
  await cluster.untilReady(reader);
  expect(await cluster.exec(reader, "cat /data/there.txt")).toBe("there\n");
  await expectReadOnly(reader);
});

it("DS-1 a reader and a writer share one Mountpoint Pod, and only the reader is refused", async () => {
  await using sandbox = await cluster.sandbox();
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: "there.txt", Body: "there\n" }));
  const claim = await sandbox.volume(writable);
  const reader = await sandbox.pod("reader", { node, claim, readOnly: true });
  const writer = await sandbox.pod("writer", { node, claim });
  await Promise.all([cluster.untilReady(reader), cluster.untilReady(writer)]);

  const selector = ["--field-selector", `spec.persistentVolumeName=${claim}`];
  const [attachment] = await cluster.list<MountpointS3PodAttachment>("s3pa", ...selector);
  expect(Object.values(attachment?.spec.mountpointS3PodAttachments ?? {}).map((served) => served.length)).toEqual([2]);

  await expectReadOnly(reader);
  await cluster.exec(
    writer,
    "echo old > /data/old.txt && rm /data/old.txt && echo new > /data/new.txt && mkdir /data/dir",
  );
  expect(await cluster.exec(reader, "cat /data/new.txt")).toBe("new\n");
  await expectReadOnly(reader);
});

async function expectReadOnly(pod: PodRef): Promise<void> {
  for (const attempt of ["echo x > /data/x.txt", "mkdir /data/d", "rm -f /data/there.txt"]) {
    // In a shell of its own: a failed redirection is reported by the shell, not by the command.
    expect(await cluster.exec(pod, `(${attempt}) 2>&1; true`)).toContain("Read-only file system");
  }
}
