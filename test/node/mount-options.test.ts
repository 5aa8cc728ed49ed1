/** What becomes of a volume's mount options, as mount-s3 is started with them. */
import { expect, it } from "vitest";
import { openCluster, type Sandbox } from "../support/cluster.ts";
import { mountS3Of, onNode } from "../support/mount-s3-process.ts";
import { below } from "../support/random.ts";

const cluster = openCluster();
const node = "worker-1";

/** Some of them cannot be had together, one of them not twice with different values. */
const options = [
  ...["allow-delete", "allow-root", "allow-other", "uid 1001", "gid=1002", "dir-mode=750", "prefix=a b/c=d/"],
  ...["file-mode=600", "--file-mode 640", "max-threads=4", "aws-max-attempts 5", "aws-max-attempts=3"],
  ...["no-log", "debug", "-d", "metadata-ttl=30", "user-agent-prefix mine", "force-path-style"],
];

it("MP-2 the same options in any order, each given twice, start mount-s3 with the same arguments", async () => {
  await using sandbox = await cluster.sandbox();
  const lists = [options, shuffled([...options, ...options]), shuffled([...options, ...options])];
  const [first, ...others] = await Promise.all(lists.map((list) => startedWith(sandbox, list)));
  for (const other of others) expect(other).toEqual(first);
  const names = (first?.args ?? []).map((argument) => argument.replace(/=.*/s, ""));
  expect(names).toEqual([...new Set(names)]);
  expect(first?.args).toEqual(expect.arrayContaining(["--allow-other", "--file-mode=600", "--prefix=a b/c=d/"]));
  expect(names).not.toContain("--allow-root");
  expect(first?.env).toContain("AWS_MAX_ATTEMPTS=3");
});

it("MP-2 an option that is refused does not get through by being given twice, or in another spelling", async () => {
  await using sandbox = await cluster.sandbox();
  const refused = {
    profile: "admin",
    "endpoint-url": "http://evil.invalid",
    "cache-xz": "bucket",
    "storage-class": "GLACIER",
    "log-directory": "/etc",
  };
  const spellings = Object.entries(refused).flatMap(([name, value]) => [
    `${name}=${value}`,
    `--${name}=${value}2`,
    ` ${name}   ${value}`,
    `--${name} ${value}3 `,
  ]);
  const flags = ["incremental-upload", "auto-unmount", "foreground", "help", "version", "read-only"];
  const short = ["-o ro", "-o=rw", "-f", "-h", "-v", "-V", "-l /var/log"];
  const all = [...spellings, ...flags, ...flags.map((flag) => `--${flag}`), ...short, ...short];
  const { args } = await startedWith(sandbox, shuffled(all));
  const prefix = expect.stringMatching(/^--user-agent-prefix=s3-csi-driver\//);
  // The mounter itself adds the last one.
  const ours = ["--otlp-endpoint=http://127.0.0.1:4318", "--otlp-export-interval=15", prefix];
  expect(args).toEqual(["--allow-root", "--force-path-style", ...ours, "--foreground"]);
});

interface Started {
  /** Without bucket and descriptor, which come first. */
  readonly args: readonly string[];
  readonly env: readonly string[];
}

let started = 0;

/** A workload with these options, and its mount-s3. */
async function startedWith(sandbox: Sandbox, mountOptions: readonly string[]): Promise<Started> {
  const claim = await sandbox.volume({ name: `${sandbox.name}-${started++}`, mountOptions });
  await cluster.untilReady(await sandbox.pod(`app-${claim}`, { node, claim }));
  const { pid } = await mountS3Of(cluster, node, claim);
  const words = async (file: string) => (await onNode(cluster, node, "cat", `/proc/${pid}/${file}`)).split("\0");
  const [, bucket, device, ...args] = (await words("cmdline")).slice(0, -1);
  expect([bucket, device]).toEqual([sandbox.bucket, expect.stringMatching(/^\/dev\/fd\/\d+$/)]);
  return { args, env: (await words("environ")).slice(0, -1).toSorted() };
}

function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  const rest = [...items];
  return items.flatMap(() => rest.splice(below(rest.length), 1));
}
