/** Mountpoint Pods of 2.x that wait on their socket are served in their own way (contract 2.5, 2.6, 2.11). */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { buildNative } from "../../scripts/native.ts";
import { workload } from "../support/fake-node.ts";
import { compileFixture } from "./fixture-programs.ts";

const run = promisify(execFile);
const scenarios = fileURLToPath(new URL("../fixtures/old-mounter-scenarios.ts", import.meta.url));
const profile = `${workload}-team~photos-s3-csi`;
const files = [`${profile}-config`, `${profile}-credentials`];

let root: string;

beforeEach(() => {
  buildNative();
  root = mkdtempSync("/dev/shm/old-mounter-");
  compileFixture("mount-s3", root);
  compileFixture("peer", root);
});

afterEach(() => rmSync(root, { recursive: true }));

async function observe(behaviour: string): Promise<unknown> {
  const { stdout } = await run("unshare", [
    ...["--mount", "--propagation=private", process.execPath, scenarios],
    ...[behaviour, root],
  ]);
  return JSON.parse(stdout);
}

it("a mounter of 2.x gets its keys in files with the names of 2.x, and new keys while it serves", async () => {
  expect(await observe("serve")).toEqual({
    files,
    credentials: `[${profile}]\naws_access_key_id=second-id\naws_secret_access_key=second-secret\n`,
    code: 0,
    lines: [
      "listening",
      `1 descriptors with ${JSON.stringify({
        bucketName: "photos",
        args: ["--allow-root"],
        env: [
          "FIXTURE=serve",
          "AWS_ENDPOINT_URL=http://s3",
          "AWS_REGION=us-east-1",
          `AWS_PROFILE=${profile}`,
          `AWS_CONFIG_FILE=/comm/credentials/${profile}-config`,
          `AWS_SHARED_CREDENTIALS_FILE=/comm/credentials/${profile}-credentials`,
        ],
      })}`,
      expect.stringMatching(/^begun as /),
    ],
  });
});

it("the error of a mounter of 2.x is returned, and nothing stays mounted", async () => {
  expect(await observe("exit=1")).toEqual({
    failure: "DriverError: Error: Failed to create mount process",
    files,
    mounted: false,
    code: 255,
  });
});
