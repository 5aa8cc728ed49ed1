/** A node plugin's token is good for its own node: the chart's rights and policies on a real API server. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type Manifest, releaseNamespace, render } from "../chart/rendered-chart.ts";
import { openCluster } from "../support/cluster.ts";
import { installAttachmentKind, long, Stage } from "../support/stage.ts";

const cluster = openCluster();
const taint = { key: "s3.csi.scality.com/agent-not-ready", effect: "NoSchedule" };
const other = { key: "example.com/gpu", effect: "NoSchedule", value: "a" };

let stage: Stage;
let objects: readonly Manifest[];
let directory: string;
let token: string;

beforeAll(async () => {
  await installAttachmentKind(cluster);
  stage = await Stage.open(cluster);
  directory = await mkdtemp(join(tmpdir(), "s3-csi-tokens-"));
  const chart = render({ "mountpointPod.namespace": stage.mountpointNamespace });
  objects = chart.filter(
    ({ kind, metadata }) =>
      (/^(Cluster)?Role(Binding)?$|ServiceAccount/.test(kind) && !metadata.name.includes("controller")) ||
      (kind.startsWith("ValidatingAdmissionPolicy") && metadata.name.startsWith("s3-csi-node")),
  );
  objects = [...objects, ...otherRights()];
  await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: releaseNamespace } }, ...objects);
  // As kubelet gets it for a Pod on that node.
  const bound = ["--bound-object-kind=Node", `--bound-object-name=${stage.node}`];
  token = (await cluster.kubectl("create", "token", "s3-csi-driver-sa", "-n", releaseNamespace, ...bound)).trim();
  for (const node of [stage.node, stage.otherNode]) {
    await cluster.apply(attachment(node));
    await cluster.kubectl("patch", "node", node, "-p", JSON.stringify({ spec: { taints: [taint, other] } }));
  }
  // The API server takes up policies in its own time. Each time another label: one that is there already would not be sent.
  let tries = 0;
  await vi.waitFor(async () => {
    tries += 1;
    const label = await asNode("label", "--overwrite", "node", stage.otherNode, `tries=${tries}`);
    const answers = [label, await asNode(...statusOf(stage.otherNode))];
    if (!answers.every((answer) => answer.includes("not the node of this token"))) throw new Error(answers.join("\n"));
  }, long);
});

afterAll(async () => {
  for (const { kind, metadata } of objects) {
    const namespace = metadata.namespace === undefined ? [] : ["-n", metadata.namespace];
    await cluster.kubectl("delete", kind, metadata.name, ...namespace, "--ignore-not-found");
  }
  await cluster.kubectl("delete", "namespace", releaseNamespace, "--wait=true");
  await rm(directory, { recursive: true });
  await stage[Symbol.asyncDispose]();
});

it("SE-2 a node plugin writes the status of attachments of its own node, and of no other", async () => {
  expect(await asNode(...statusOf(stage.node))).toBe("");
  expect(await asNode(...statusOf(stage.otherNode))).toContain(
    `spec.nodeName is not the node of this token (${stage.node})`,
  );
});

it("SE-2 a node plugin takes the startup taint off its own node", async () => {
  expect(await asNode("patch", "node", stage.node, "--type=merge", "-p", taints([other]))).toBe("");
  await cluster.kubectl("patch", "node", stage.node, "-p", taints([taint, other]));
});

it("SE-2 a token that names no node writes nothing", async () => {
  const anywhere = (await cluster.kubectl("create", "token", "s3-csi-driver-sa", "-n", releaseNamespace)).trim();
  const patch = ["patch", "node", stage.node, "--type=merge", "-p", taints([other])];
  expect(await withToken(anywhere, patch)).toContain("it names no node");
});

it.for([
  ["another node's startup taint", () => [stage.otherNode, taints([other])], "may write only its own Node"],
  ["another taint", () => [stage.node, taints([taint])], "may remove only the startup taint"],
  [
    "a taint of its own making",
    () => [stage.node, taints([taint, other, { key: "x", effect: "NoExecute" }])],
    "may remove only the startup taint",
  ],
  [
    "the effect of a taint",
    () => [stage.node, taints([taint, { ...other, effect: "NoExecute" }])],
    "may remove only the startup taint",
  ],
  [
    "a label",
    () => [stage.node, JSON.stringify({ metadata: { labels: { a: "b" } } })],
    "may change only spec.taints of a Node",
  ],
  [
    "an annotation",
    () => [stage.node, JSON.stringify({ metadata: { annotations: { a: "b" } } })],
    "may change only spec.taints",
  ],
  [
    "schedulability",
    () => [stage.node, JSON.stringify({ spec: { unschedulable: true } })],
    "may change only spec.taints",
  ],
] as const)("SE-2 a node plugin cannot change %s", async ([, wish, sentence]) => {
  const [node, patch] = wish();
  expect(await asNode("patch", "node", node ?? "", "--type=merge", "-p", patch ?? "")).toContain(sentence);
});

it("SE-2 everybody else is as free as before", async () => {
  expect(await cluster.kubectl("label", "node", stage.node, "example.com/a=b")).toContain("labeled");
  await cluster.kubectl(
    "patch",
    "s3pa",
    `s3pa-${stage.node}`,
    "--type=merge",
    "-p",
    '{"spec":{"workloadFSGroup":"1"}}',
  );
});

function attachment(node: string): object {
  const spec = {
    nodeName: node,
    persistentVolumeName: stage.name,
    volumeID: stage.name,
    mountOptions: "",
    workloadFSGroup: "",
    mountpointS3PodAttachments: {},
  };
  return {
    apiVersion: "s3.csi.scality.com/v2",
    kind: "MountpointS3PodAttachment",
    metadata: { name: `s3pa-${node}` },
    spec,
  };
}

/** So that the policy alone decides, whatever the role of the chart says. kubectl reads before it writes; the plugin does not. */
function otherRights(): readonly Manifest[] {
  const rbac = "rbac.authorization.k8s.io";
  const kind = "mountpoints3podattachments";
  const metadata = { name: `${stage.name}-rights` };
  const rules = [
    { apiGroups: ["s3.csi.scality.com"], resources: [`${kind}/status`], verbs: ["get", "patch"] },
    { apiGroups: ["s3.csi.scality.com"], resources: [kind], verbs: ["get"] },
    { apiGroups: [""], resources: ["nodes"], verbs: ["get"] },
  ];
  const subjects = [{ kind: "ServiceAccount", name: "s3-csi-driver-sa", namespace: releaseNamespace }];
  const roleRef = { apiGroup: rbac, kind: "ClusterRole", name: metadata.name };
  return [
    { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata, rules },
    { apiVersion: `${rbac}/v1`, kind: "ClusterRoleBinding", metadata, subjects, roleRef },
  ];
}

const taints = (list: readonly object[]) => JSON.stringify({ spec: { taints: list } });

function statusOf(node: string): readonly string[] {
  const patch = JSON.stringify({ status: { mountpointPods: { "mp-1": { health: "serving" } } } });
  return ["patch", "s3pa", `s3pa-${node}`, "--subresource=status", "--type=merge", "-p", patch];
}

const asNode = (...args: readonly string[]) => withToken(token, args);

/** What the API server says to the holder of the token; nothing if it agrees. */
async function withToken(bearer: string, args: readonly string[]): Promise<string> {
  const admin = JSON.parse(await readFile(cluster.lab.layout.kubeconfig, "utf8")) as { users: [{ name: string }] };
  const kubeconfig = join(directory, "kubeconfig");
  const users = [{ name: admin.users[0].name, user: { token: bearer } }];
  await writeFile(kubeconfig, JSON.stringify({ ...admin, users }), { mode: 0o600 });
  // The last flag of a name counts.
  const argv = [...args, `--kubeconfig=${kubeconfig}`];
  const { code, stderr } = await cluster.lab.tryKubectl(argv, { signal: AbortSignal.timeout(60_000) });
  return code === 0 ? "" : stderr;
}
