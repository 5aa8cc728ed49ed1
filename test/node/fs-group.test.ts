import { HeadObjectCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { openCluster } from "../support/cluster.ts";

const cluster = openCluster();
const node = "worker-1";

it("MP-1 a Pod with fsGroup 2000 and another uid writes, and sees its group with modes 0660 and 0770", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const securityContext = { runAsUser: 4321, runAsGroup: 4321, fsGroup: 2000 };
  const pod = await sandbox.pod("app", { node, claim, securityContext });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo mine > /data/file.txt");
  const head = await cluster.s3.send(new HeadObjectCommand({ Bucket: sandbox.bucket, Key: "file.txt" }));
  expect(head.ContentLength).toBe(5);
  expect(await cluster.exec(pod, "stat -c '%g %a' /data/file.txt /data")).toBe("2000 660\n2000 770\n");
});

it("MP-1 an explicit gid keeps the modes of mount-s3", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume({ mountOptions: ["gid=3000", "allow-other"] });
  const securityContext = { runAsUser: 1000, runAsGroup: 3000, fsGroup: 2000 };
  const pod = await sandbox.pod("app", { node, claim, securityContext });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo mine > /data/file.txt");
  expect(await cluster.exec(pod, "stat -c '%g %a' /data/file.txt /data")).toBe("3000 644\n3000 755\n");
});
