/** How the CSI controller service reaches object stores: regions, certificates, proxies and credentials. */
import { once } from "node:events";
import { createServer, request as httpRequest, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { GetBucketLocationCommand } from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { rootAccount, s3Endpoint, tenantAccount } from "../../lab/s3.ts";
import { failurePattern } from "../../src/core/failures/call-failures.ts";
import { bucketNames } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { createRequest } from "../support/create-request.ts";
import { CsiControllerProcess } from "../support/csi-controller-process.ts";
import { FaultyS3 } from "../support/faulty-s3.ts";
import { Authority, S3Server } from "../support/s3-server.ts";

const cluster = openCluster();
const rootSecrets = { access_key_id: rootAccount.accessKeyId, secret_access_key: rootAccount.secretAccessKey };

it.for([
  ["the driver", { region: "eu-west-1" }, {}],
  ["the class", {}, { parameters: { region: "eu-west-1" } }],
  ["the Secret", {}, { secrets: { ...rootSecrets, region: "eu-west-1" } }],
] as const)("PR-6 a strict server in eu-west-1: the bucket is made there, as %s says", async ([, wish, call]) => {
  await using server = await S3Server.start(cluster, { region: "eu-west-1" });
  await using way = await FaultyS3.before(server.url);
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: way.url, ...wish });
  const { volume } = await provisioner.controller.createVolume(createRequest(call));
  // Not every server insists on it as AWS does.
  expect(way.bodyOf(`PUT /${volume?.volumeId}/`)).toContain("<LocationConstraint>eu-west-1</LocationConstraint>");
  const location = new GetBucketLocationCommand({ Bucket: volume?.volumeId });
  expect((await server.client("eu-west-1").send(location)).LocationConstraint).toBe("eu-west-1");
});

const noSuchLocation = { do: "answer", status: 400, code: "InvalidLocationConstraint" } as const;

it("PR-6 a store without a location called as the driver's region: the bucket is made where the store makes one by itself", async () => {
  await using server = await S3Server.start(cluster, { region: "ring-1" });
  await using way = await FaultyS3.before(server.url);
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: way.url, region: "ring-1" });
  way.break(/^PUT \/[^?]*$/, noSuchLocation, 1);
  const { volume } = await provisioner.controller.createVolume(createRequest());
  expect(way.bodyOf(`PUT /${volume?.volumeId}/`)).not.toContain("LocationConstraint");
  expect(provisioner.log).toContain("the store has no location called as the driver's region");
});

it.for([
  ["the class", { parameters: { region: "us-east-1" } }],
  ["the Secret", { secrets: { ...rootSecrets, region: "us-east-1" } }],
] as const)(
  "PR-6 us-east-1 asked for by %s is named, for stores whose default is another; where its name is refused, as by AWS, the bucket is made without",
  async ([, call]) => {
    await using path = await FaultyS3.before(s3Endpoint);
    await using provisioner = await CsiControllerProcess.start(cluster, { s3: path.url });
    const { volume } = await provisioner.controller.createVolume(createRequest(call));
    const volumeId = volume?.volumeId ?? "";
    expect(await bucketNames(cluster.s3)).toContain(volumeId);
    await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
    const named = expect.stringContaining("<LocationConstraint>us-east-1</LocationConstraint>");
    expect(path.bodiesOf(`PUT /${volumeId}/`)).toEqual([named, ""]);
  },
);

it("PR-6 us-east-1 that is only what the driver signs for is not named", async () => {
  await using path = await FaultyS3.before(s3Endpoint);
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: path.url, region: "us-east-1" });
  const { volume } = await provisioner.controller.createVolume(createRequest());
  const volumeId = volume?.volumeId ?? "";
  await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
  expect(path.bodiesOf(`PUT /${volumeId}/`)).toEqual([""]);
});

it.for([
  ["parameters.region", { parameters: { region: "ring-1" } }],
  ["region in the provisioner Secret", { secrets: { ...rootSecrets, region: "ring-1" } }],
] as const)("PR-6 a location that the store does not have, asked for by %s, is refused", async ([askedBy, call]) => {
  await using server = await S3Server.start(cluster, { region: "ring-1" });
  await using way = await FaultyS3.before(server.url);
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: way.url });
  way.break(/^PUT \/[^?]*$/, noSuchLocation);
  const refused = provisioner.controller.createVolume(createRequest(call));
  await expect(refused).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringContaining(`${askedBy} is ring-1, and the store has no such location`),
  });
  await expect(refused).rejects.toThrow(failurePattern("unknownLocation"));
  expect(way.lines).toHaveLength(1);
});

it("a region that the server does not have is refused with its name", async () => {
  await using server = await S3Server.start(cluster, { region: "eu-west-1" });
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: server.url });
  const call = provisioner.controller.createVolume(createRequest({ parameters: { region: "mars-1" } }));
  await expect(call).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
});

it("PR-8 the controller trusts a CA of the installation, in addition to those of the system, and no other", async () => {
  await using ours = await Authority.make("ours");
  await using systems = await Authority.make("system");
  await using strangers = await Authority.make("stranger");
  const env = { AWS_CA_BUNDLE: ours.bundle, SSL_CERT_FILE: systems.bundle };
  for (const authority of [ours, systems]) {
    await using server = await S3Server.start(cluster, { authority });
    await using provisioner = await CsiControllerProcess.start(cluster, { s3: server.url, env });
    await expect(provisioner.controller.createVolume(createRequest())).resolves.toMatchObject({ volume: {} });
  }
  await using server = await S3Server.start(cluster, { authority: strangers });
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: server.url, env });
  const refused = provisioner.controller.createVolume(createRequest());
  await expect(refused).rejects.toMatchObject({
    code: status.UNAVAILABLE,
    details: expect.stringContaining("tls.caCertConfigMap"),
  });
  await expect(refused).rejects.toThrow(failurePattern("certificateNotTrusted"));
});

it("the store is reached through a proxy, if there is one, and its password is not in the log", async () => {
  await using proxy = await countingProxy();
  const env = { MOUNTPOINT_HTTP_PROXY: proxy.url.replace("//", "//user:hunter2@") };
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: s3Endpoint, env });
  const { volume } = await provisioner.controller.createVolume(createRequest());
  expect(proxy.count()).toBeGreaterThan(0);
  await provisioner.controller.deleteVolume({ volumeId: volume?.volumeId ?? "", secrets: {} });
  expect(provisioner.log).toContain(proxy.url);
  expect(provisioner.log).not.toContain("hunter2");
});

it("PR-7 without driver credentials the service is ready, and provisions with those of a StorageClass", async () => {
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: s3Endpoint, account: undefined });
  await expect(provisioner.controller.createVolume(createRequest())).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringContaining("provisioner-secret-name"),
  });
  const secrets = { access_key_id: tenantAccount.accessKeyId, secret_access_key: `${tenantAccount.secretAccessKey}\n` };
  const { volume } = await provisioner.controller.createVolume(createRequest({ secrets }));
  expect(volume?.volumeContext).toMatchObject({ authenticationSource: "secret" });
  expect(await bucketNames(cluster.s3)).toContain(volume?.volumeId);
  await provisioner.controller.deleteVolume({ volumeId: volume?.volumeId ?? "", secrets });
  expect(await bucketNames(cluster.s3)).not.toContain(volume?.volumeId);
});

it("PR-7 a session token is passed on", async () => {
  const tokens: unknown[] = [];
  await using server = await listening(
    createServer((incoming, outgoing) => {
      tokens.push(incoming.headers["x-amz-security-token"]);
      outgoing.writeHead(403).end("<Error><Code>AccessDenied</Code></Error>");
    }),
  );
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: server.url });
  const secrets = { access_key_id: "a", secret_access_key: "b", session_token: "token-1" };
  await expect(provisioner.controller.createVolume(createRequest({ secrets }))).rejects.toMatchObject({
    code: status.PERMISSION_DENIED,
  });
  expect(new Set(tokens)).toEqual(new Set(["token-1"]));
});

/** Both kinds of proxying: of requests, and of connections. */
async function countingProxy() {
  let count = 0;
  const server = createServer((incoming, outgoing) => {
    count += 1;
    const { method, headers } = incoming;
    const onward = httpRequest(new URL(incoming.url ?? ""), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  server.on("connect", (incoming, socket) => {
    count += 1;
    const { hostname, port } = new URL(`http://${incoming.url}`);
    const far = connect(Number(port || 80), hostname, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      far.pipe(socket).pipe(far);
    });
  });
  const { url, ...end } = await listening(server);
  return { url, count: () => count, ...end };
}

async function listening(server: Server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
