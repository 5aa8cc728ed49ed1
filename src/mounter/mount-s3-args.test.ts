import { expect, it } from "vitest";
import { mountS3Args } from "./mount-s3-args.ts";

const here = { device: 21, memoryTarget: undefined, cacheDirectory: () => "/real" };
const argsFor = (...args: string[]) => mountS3Args({ bucketName: "photos", args, env: {} }, here);

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
  expect(mountS3Args(request, { ...here, cacheDirectory: expect.unreachable })).toContain("--cache-xz=bucket");
});

it.for([
  [[], ["--memory-target=972"]],
  [["--memory-target=600"], ["--memory-target=600"]],
] as const)("fits the memory of the Pod, unless the options %j have a target", ([args, expected]) => {
  const all = mountS3Args({ bucketName: "photos", args, env: {} }, { ...here, memoryTarget: "972" });
  expect(all.filter((argument) => argument.startsWith("--memory-target"))).toEqual(expected);
});
