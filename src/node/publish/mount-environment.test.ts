import { expect, it } from "vitest";
import { mountEnvironment } from "./mount-environment.ts";

const s3 = { endpointUrl: "http://s3", region: "us-east-1" };
const always = { AWS_ENDPOINT_URL: "http://s3", AWS_REGION: "us-east-1", AWS_EC2_METADATA_DISABLED: "true" };

it.for([
  [{}, {}, {}],
  [{ HTTPS_PROXY: "http://a" }, {}, { HTTPS_PROXY: "http://a" }],
  [{ HTTPS_PROXY: "http://a" }, { HTTPS_PROXY: "http://b" }, { HTTPS_PROXY: "http://b" }],
  [{ HTTPS_PROXY: "http://a" }, { HTTPS_PROXY: "" }, {}],
  [{}, { AWS_MAX_ATTEMPTS: "5", NO_PROXY: "svc" }, { AWS_MAX_ATTEMPTS: "5", NO_PROXY: "svc" }],
] as const)("driver %j, volume %j → %j", ([proxy, fromVolume, expected]) => {
  expect(mountEnvironment({ s3, proxy }, fromVolume)).toEqual({ ...always, ...expected });
});

it("does not let a volume change the endpoint to which credentials are sent", () => {
  expect(mountEnvironment({ s3, proxy: {} }, { AWS_ENDPOINT_URL: "http://thief" })).toEqual(always);
});
