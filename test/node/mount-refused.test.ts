/** Volumes that cannot be mounted: the owner of the Pod reads why, soon and in the words of whoever knows. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { rootAccount, tenantAccount } from "../../lab/s3.ts";
import { type FailureCause, failureCause, failurePattern } from "../../src/core/failures/call-failures.ts";
import { openCluster, type Sandbox } from "../support/cluster.ts";
import { onNode } from "../support/mount-s3-process.ts";
import { secretManifest } from "../support/s3-accounts.ts";
import { eventsOf, mountpointPodsOf, objectText, podOf } from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await cluster.sandbox();
});

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

it("MP-10 a Mountpoint Pod whose image cannot be pulled is told with the reason; the Pod starts when it can be", async () => {
  const claim = await volume("image");
  await using away = await imageAway();
  const pod = await sandbox.pod("image", { node, claim });
  await expect
    .poll(() => eventsOf(cluster, pod), long)
    .toMatch(
      /code = Unavailable desc = Could not mount .*Mountpoint Pod mp-\w+ does not start \((ErrImagePull|ImagePullBackOff)/,
    );
  expect(await eventsOf(cluster, pod)).toMatch(failurePattern("mountpointPodNotStarted"));
  expect(await eventsOf(cluster, pod)).toContain("kubectl describe pod -n mount-s3 mp-");
  await away[Symbol.asyncDispose]();
  await cluster.untilReady(pod);
  await cluster.deletePod(pod);
});

it("MP-10 a Mountpoint Pod without a place on the node is told with the reason; nothing is left of it", async () => {
  const attributes = { mountpointContainerResourcesRequestsMemory: "1000Ti" };
  const claim = await sandbox.volume({ name: `${sandbox.name}-place`, attributes });
  const pod = await sandbox.pod("place", { node, claim });
  await expect
    .poll(() => eventsOf(cluster, pod), long)
    .toMatch(/code = Unavailable desc = Could not mount .*Mountpoint Pod mp-\w+ has no place on the node: .*memory/);
  expect(await eventsOf(cluster, pod)).toMatch(failurePattern("mountpointPodNotScheduled"));
  await cluster.deletePod(pod);
  await expect.poll(() => mountpointPodsOf(cluster, claim), long).toEqual([]);
});

it.for([
  [
    "an unknown key",
    { access_key_id: "nobody", secret_access_key: "nothing" },
    /access key Id you provided does not exist/i,
    "unknownAccessKey",
  ],
  [
    "a wrong secret",
    { access_key_id: tenantAccount.accessKeyId, secret_access_key: "mistyped-0003" },
    /signature/i,
    "wrongSecretKey",
  ],
  [
    "the keys of a stranger",
    { access_key_id: tenantAccount.accessKeyId, secret_access_key: tenantAccount.secretAccessKey },
    /Access Denied/i,
    "accessDenied",
  ],
] as const)(
  "%s: the event has bucket, path and mount-s3's own words, and no key",
  async ([what, stringData, words, cause]) => {
    const name = what.replaceAll(" ", "-");
    const keys = { namespace: sandbox.name, name };
    await cluster.apply({ apiVersion: "v1", kind: "Secret", metadata: keys, stringData });
    const csi = { nodePublishSecretRef: keys };
    const claim = await sandbox.volume({
      name: `${sandbox.name}-${name}`,
      attributes: { authenticationSource: "secret" },
      csi,
    });
    const pod = await sandbox.pod(name, { node, claim });
    await expect.poll(() => eventsOf(cluster, pod), long).toMatch(words);
    const events = await eventsOf(cluster, pod);
    expect(events).toMatch(
      new RegExp(
        `Could not mount "${sandbox.bucket}" at "/var/lib/kubelet/pods/[^"]+/mount": .*kubectl logs -n mount-s3 mp-`,
      ),
    );
    expect(failureCause(events)).toBe(cause);
    expect(events).not.toContain(stringData.secret_access_key);
    expect((await podOf(cluster, pod))?.status?.phase).toBe("Pending");
    await cluster.deletePod(pod);
  },
);

it("OP-4 a wrong region: the event begins with the store's own error code and says what to set, without a page of debug text", async () => {
  const claim = await sandbox.volume({ name: `${sandbox.name}-region`, mountOptions: ["region eu-west-9"] });
  const pod = await sandbox.pod("region", { node, claim });
  await expect
    .poll(() => eventsOf(cluster, pod), long)
    .toMatch(/Could not mount "[^"]+" at "[^"]+": AuthorizationHeaderMalformed: .*HTTP 400.*chart value s3\.region/);
  expect(failureCause(await eventsOf(cluster, pod))).toBe("wrongRegion" satisfies FailureCause);
  expect(await eventsOf(cluster, pod)).not.toMatch(/MetaRequestResult|<Code>/);
  await cluster.deletePod(pod);
});

it("PR-10 a Secret that is there and empty is named, and the keys of the driver do not stand in; the Pod starts when it is filled", async () => {
  const keys = { namespace: sandbox.name, name: "empty" };
  await cluster.apply({ apiVersion: "v1", kind: "Secret", metadata: keys });
  const claim = await sandbox.volume({
    name: `${sandbox.name}-empty`,
    mountOptions: ["prefix=empty/"],
    attributes: { authenticationSource: "secret" },
    csi: { nodePublishSecretRef: keys },
  });
  const pod = await sandbox.pod("empty", { node, claim });
  await expect
    .poll(() => eventsOf(cluster, pod), long)
    .toMatch(
      new RegExp(`code = InvalidArgument .*access_key_id in Secret ${keys.namespace}/empty is missing or empty`),
    );
  await cluster.apply(secretManifest(keys, rootAccount));
  await cluster.untilReady(pod);
  await cluster.deletePod(pod);
});

it("S3 that is down when a volume is mounted is told in the words of mount-s3; the Pod starts when it is up again", async () => {
  const claim = await sandbox.volume({
    name: `${sandbox.name}-down`,
    mountOptions: ["prefix=down/", "aws-max-attempts 1"],
  });
  const s3 = cluster.lab.component("versitygw");
  await using up = { [Symbol.asyncDispose]: () => s3.start(patience()) };
  await s3.stop(patience());
  const pod = await sandbox.pod("down", { node, claim });
  await expect.poll(() => eventsOf(cluster, pod), long).toMatch(/Could not mount .*(connect|Connection)/);
  await up[Symbol.asyncDispose]();
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo up > /data/a.txt");
  expect(await objectText(sandbox, "down/a.txt")).toBe("up\n");
  await cluster.deletePod(pod);
});

const patience = () => AbortSignal.timeout(60_000);

function volume(what: string): Promise<string> {
  return sandbox.volume({ name: `${sandbox.name}-${what}`, mountOptions: [`prefix=${what}/`] });
}

/** The node does not have the driver's image until the end of the scope, and no registry is in reach. */
async function imageAway(): Promise<AsyncDisposable> {
  const path = "jsonpath={.spec.template.spec.containers[0].image}";
  const image = await cluster.kubectl("get", "deployment/s3-csi-controller", "-n", "kube-system", "-o", path);
  const kept = "docker.io/library/kept-for-test:1";
  const images = (...args: readonly string[]) => onNode(cluster, node, "ctr", "-n", "k8s.io", "images", ...args);
  await images("tag", "--force", image, kept);
  await images("rm", "--sync", image);
  let isAway = true;
  return {
    [Symbol.asyncDispose]: async () => {
      if (!isAway) return;
      await images("tag", "--force", kept, image);
      isAway = false;
      await images("rm", kept);
    },
  };
}
