/** Commands that work in a lab that runs already. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pluginDirectory } from "../../scripts/plugin.ts";
import { parseArguments, takeLabName } from "../arguments.ts";
import type { Command } from "../cli.ts";
import { Lab } from "../lab.ts";
import { inside } from "../namespaces.ts";
import { Problem } from "../problem.ts";
import { minioAccount, minioEndpoint, rootAccount, s3Endpoint, s3Region, tenantAccount } from "../s3.ts";

export const kubectl: Command = (_signal, args) => {
  const { name, rest } = takeLabName(args);
  const lab = openLab(name);
  return takeOver(lab.inNetwork([join(lab.programs.kubernetes, "kubectl"), ...rest]), lab);
};

export const helm: Command = (_signal, args) => {
  const { name, rest } = takeLabName(args);
  const lab = openLab(name);
  return takeOver(lab.inNetwork([join(lab.programs.kubernetes, "helm"), ...rest]), lab);
};

export const shell: Command = (_signal, args) => {
  const { name, rest } = takeLabName(args);
  const lab = openLab(name);
  const node = lab.node(rest[0] ?? "worker-1");
  return takeOver(inside(node.init, ["env", `PS1=${node.name}# `, "sh"]), lab);
};

export const logs: Command = async (_signal, args) => {
  const { name, rest } = takeLabName(args);
  const lab = openLab(name);
  const [component] = rest;
  if (component === undefined) {
    process.stdout.write(`${lab.componentNames().join("\n")}\n`);
    process.stdout.write("driver-node     (kubectl logs of the DaemonSet)\ndriver-controller\n");
    return 0;
  }
  const selector = { "driver-node": "app=s3-csi-node", "driver-controller": "app=s3-csi-controller" }[component];
  if (selector !== undefined) {
    const argv = ["logs", "-n", "kube-system", "-l", selector, "--all-containers", "--prefix", "--tail=-1"];
    return takeOver(lab.inNetwork([join(lab.programs.kubernetes, "kubectl"), ...argv]), lab);
  }
  process.stdout.write(lab.component(component).log());
  return 0;
};

export const env: Command = async (_signal, args) => {
  const lab = openLab(takeLabName(args).name);
  const [worker] = lab.nodes;
  const lines = [
    `export KUBECONFIG=${lab.layout.kubeconfig}`,
    `export PATH=${lab.programs.kubernetes}:$PATH`,
    `export S3_ENDPOINT_URL=${s3Endpoint} AWS_ENDPOINT_URL=${s3Endpoint} AWS_REGION=${s3Region}`,
    `export AWS_ACCESS_KEY_ID=${rootAccount.accessKeyId} AWS_SECRET_ACCESS_KEY=${rootAccount.secretAccessKey}`,
    `export S3_TENANT_ACCESS_KEY_ID=${tenantAccount.accessKeyId} S3_TENANT_SECRET_ACCESS_KEY=${tenantAccount.secretAccessKey}`,
    ...(lab.component("minio").process === undefined ? [] : minioLines),
    "# the lab's network, with this machine's files: put this before a command",
    `export LAB_ENTER='${lab.inNetwork([]).join(" ")}'`,
    ...(worker === undefined ? [] : [`# a whole node: ${inside(worker.init, ["sh"]).join(" ")}`]),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  return 0;
};

const minioLines = [
  "# MinIO, which is STS for service accounts, too",
  `export MINIO_ENDPOINT_URL=${minioEndpoint}`,
  `export MINIO_ACCESS_KEY_ID=${minioAccount.accessKeyId} MINIO_SECRET_ACCESS_KEY=${minioAccount.secretAccessKey}`,
];

export const load: Command = async (signal, args) => {
  const { name, rest } = takeLabName(args);
  const { rest: archives } = parseArguments(rest, []);
  const lab = openLab(name);
  const [archive] = archives;
  if (archive === undefined) throw new Problem("no image was named", "write ./dev load IMAGE.tar");
  if (!existsSync(archive)) throw new Problem(`${archive} does not exist`, "give the path of a docker or OCI archive");
  await lab.load(signal, resolve(archive));
  process.stdout.write(`${archive} is on ${lab.nodes.map((node) => node.name).join(" and ")}\n`);
  return 0;
};

export function openLab(name: string): Lab {
  const lab = Lab.open(name);
  if (lab !== undefined) return lab;
  throw new Problem(`no lab "${name}" is running`, `start it: ./dev up${name === "dev" ? "" : ` --name ${name}`}`);
}

/** The program gets our terminal, and its exit code becomes ours. */
export function takeOver(argv: readonly string[], lab: Lab): Promise<number> {
  const [program = "", ...args] = argv;
  // kubectl finds its plugins there.
  const PATH = `${pluginDirectory}:${process.env["PATH"] ?? ""}`;
  const child = spawn(program, args, {
    stdio: "inherit",
    env: { ...process.env, PATH, LAB_NAME: lab.spec.name, KUBECONFIG: lab.layout.kubeconfig },
  });
  return new Promise((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => done(code ?? 1));
  });
}
