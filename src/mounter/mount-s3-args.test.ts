import { expect, it } from "vitest";
import { mountS3Args } from "./mount-s3-args.ts";

const argsFor = (...args: string[]) => mountS3Args({ bucketName: "photos", args, env: {} }, 21, () => "/real");

it("names the bucket and the descriptor, keeps the options and stays in the foreground", () => {
  expect(argsFor("--allow-root", "--prefix=a b/")).toEqual([
    "photos",
    "/dev/fd/21",
    "--allow-root",
    "--prefix=a b/",
    "--foreground",
  ]);
});

it.for([
  { given: ["--cache=/var/tmp/somewhere"] },
  { given: ["--cache="] },
  { given: ["--cache"] },
  { given: ["--cache=/a", "--cache=/b"] },
])("gives $given the directory that exists, once", ({ given }) => {
  expect(argsFor("--allow-delete", ...given, "--max-cache-size=95")).toEqual([
    "photos",
    "/dev/fd/21",
    "--cache=/real",
    "--allow-delete",
    "--max-cache-size=95",
    "--foreground",
  ]);
});

it("makes no cache directory for options that only resemble --cache", () => {
  const request = { bucketName: "photos", args: ["--cache-xz=bucket", "--prefix=--cache=/"], env: {} };
  expect(mountS3Args(request, 21, expect.unreachable)).toContain("--cache-xz=bucket");
});
