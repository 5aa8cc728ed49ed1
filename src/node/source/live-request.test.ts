import { expect, it } from "vitest";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import { logEnvironment } from "../domain/mount-s3-log.ts";
import { liveRequest } from "./live-request.ts";

const live = "live.s3.csi.scality.com";
const request = {
  bucketName: "data",
  args: ["--metadata-ttl=1", "--prefix=a/"],
  env: { AWS_REGION: "", HTTPS_PROXY: "http://former", HTTP_PROXY: "http://former", ...logEnvironment([]) },
};

function requestFor(annotations: LocalMountpointPod["live"], logged: unknown[] = []) {
  const log = { error: (...line: unknown[]) => logged.push(line) } as never;
  return liveRequest({ log, signal: new AbortController().signal }, request, {
    live: annotations,
  } as LocalMountpointPod);
}

it("a Pod without live options gets the request of the record", () => {
  expect(requestFor({})).toBe(request);
});

it("LC-21 a Pod gets the options and the environment that its annotations name", () => {
  const annotations = {
    [`${live}/mountOptions`]: "--aws-max-attempts=3,--debug,--metadata-ttl=60",
    [`${live}/mountpointEnv.HTTPS_PROXY`]: "http://proxy",
    [`${live}/mountpointEnv.HTTP_PROXY`]: "",
  };
  expect(requestFor(annotations)).toEqual({
    bucketName: "data",
    args: ["--debug", "--metadata-ttl=60", "--prefix=a/"],
    env: { AWS_REGION: "", HTTPS_PROXY: "http://proxy", AWS_MAX_ATTEMPTS: "3" },
  });
});

it("MP-2 annotations that somebody edited on the Pod are ignored, and the log says so", () => {
  const logged: unknown[] = [];
  expect(requestFor({ [`${live}/mountOptions`]: "--prefix=other/" }, logged)).toBe(request);
  expect(logged).toHaveLength(1);
});
