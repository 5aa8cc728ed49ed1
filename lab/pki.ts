/** Certificates of a lab's cluster, made with openssl. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type NodeAddress, network } from "./layout.ts";
import { run } from "./run.ts";

interface Leaf {
  readonly file: string;
  readonly subject: string;
  readonly names?: string;
}

/** Fills a directory with `NAME.crt` and `NAME.key` for every party, and `sa.key` for service account tokens. */
export async function makePki(signal: AbortSignal, directory: string, nodes: readonly NodeAddress[]): Promise<void> {
  await mkdir(directory, { recursive: true });
  const openssl = (args: readonly string[]) => run(["openssl", ...args], { signal, cwd: directory });
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650"];
  await openssl(["req", "-x509", ...curve, "-subj", "/CN=lab-ca", "-keyout", "ca.key", "-out", "ca.crt"]);
  const leaf = ({ file, subject, names }: Leaf) =>
    openssl([
      ...["req", "-x509", ...curve, "-CA", "ca.crt", "-CAkey", "ca.key", "-subj", subject],
      ...["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=serverAuth,clientAuth"],
      ...(names === undefined ? [] : ["-addext", `subjectAltName=${names}`]),
      ...["-keyout", `${file}.key`, "-out", `${file}.crt`],
    ]);
  const key = openssl(["ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", "sa.key"]);
  await Promise.all([key, ...parties(nodes).map(leaf)]);
}

function parties(nodes: readonly NodeAddress[]): readonly Leaf[] {
  return [
    {
      file: "apiserver",
      subject: "/CN=kube-apiserver",
      names: `IP:${network.hub},IP:10.96.0.1,IP:127.0.0.1,DNS:kubernetes.default.svc,DNS:localhost`,
    },
    { file: "apiserver-kubelet-client", subject: "/O=system:masters/CN=kube-apiserver-kubelet-client" },
    { file: "admin", subject: "/O=system:masters/CN=lab-admin" },
    { file: "controller-manager", subject: "/CN=system:kube-controller-manager" },
    { file: "scheduler", subject: "/CN=system:kube-scheduler" },
    { file: "proxy", subject: "/CN=system:kube-proxy" },
    ...nodes.map(({ name, address }) => ({
      file: name,
      subject: `/O=system:nodes/CN=system:node:${name}`,
      names: `IP:${address},DNS:${name}`,
    })),
  ];
}

/** A kubeconfig in JSON (which is YAML, too) that carries its certificates. */
export async function writeKubeconfig(pki: string, party: string, file: string): Promise<void> {
  const base64 = async (name: string) => (await readFile(join(pki, name))).toString("base64");
  const server = `https://${network.hub}:${network.apiPort}`;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "lab", cluster: { server, "certificate-authority-data": await base64("ca.crt") } }],
    users: [
      {
        name: party,
        user: {
          "client-certificate-data": await base64(`${party}.crt`),
          "client-key-data": await base64(`${party}.key`),
        },
      },
    ],
    contexts: [{ name: "lab", context: { cluster: "lab", user: party } }],
    "current-context": "lab",
  };
  await writeFile(file, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
}
