import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { inClusterCredentials, kubeconfigCredentials } from "./credentials.ts";

let dir = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "credentials-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

const write = (name: string, content: string) => {
  writeFileSync(join(dir, name), content);
  return join(dir, name);
};

const base64 = (text: string) => Buffer.from(text).toString("base64");

function kubeconfig(cluster: object, user: object): string {
  return write(
    "kubeconfig",
    JSON.stringify({
      "current-context": "here",
      contexts: [
        { name: "there", context: { cluster: "other", user: "other" } },
        { name: "here", context: { cluster: "c", user: "u" } },
      ],
      clusters: [{ name: "c", cluster }],
      users: [{ name: "u", user }],
    }),
  );
}

it("takes a token that kubelet has replaced", () => {
  write("ca.crt", "CA");
  write("token", "first\n");
  const credentials = inClusterCredentials({ host: "10.0.0.1", port: "443", serviceAccountDir: dir });
  expect(credentials.token()?.reveal()).toBe("first");
  write("token", "second\n");
  expect(credentials.token()?.reveal()).toBe("second");
  expect(credentials.tls().ca?.toString()).toBe("CA");
});

it("SC-8 takes an authority that kubelet has replaced, by exchanging a link", () => {
  for (const name of ["first", "second"]) {
    mkdirSync(join(dir, name));
    write(`${name}/ca.crt`, name);
  }
  symlinkSync("..data/ca.crt", join(dir, "ca.crt"));
  symlinkSync("first", join(dir, "..data"));
  const inCluster = inClusterCredentials({ host: "10.0.0.1", port: "443", serviceAccountDir: dir });
  const configured = kubeconfigCredentials(kubeconfig({ server: "https://h", "certificate-authority": "ca.crt" }, {}));
  const authorities = () => [inCluster, configured].map((credentials) => credentials.tls().ca?.toString());
  expect(authorities()).toEqual(["first", "first"]);
  symlinkSync("second", join(dir, "..data_tmp"));
  renameSync(join(dir, "..data_tmp"), join(dir, "..data"));
  expect(authorities()).toEqual(["second", "second"]);
});

it.for([
  { host: "10.0.0.1", server: "https://10.0.0.1:6443/" },
  { host: "fd00::1", server: "https://[fd00::1]:6443/" },
  { host: "kubernetes.default.svc", server: "https://kubernetes.default.svc:6443/" },
])("reaches $host at $server", ({ host, server }) => {
  write("ca.crt", "CA");
  expect(inClusterCredentials({ host, port: "6443", serviceAccountDir: dir }).server.href).toBe(server);
});

it("reads certificates inside the kubeconfig", () => {
  const path = kubeconfig(
    { server: "https://127.0.0.1:6443", "certificate-authority-data": base64("CA") },
    { "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY") },
  );
  const credentials = kubeconfigCredentials(path);
  const { server } = credentials;
  const tls = credentials.tls();
  expect(server.href).toBe("https://127.0.0.1:6443/");
  expect([tls.ca?.toString(), tls.cert?.toString(), tls.key?.reveal()]).toEqual(["CA", "CERT", "KEY"]);
  expect(credentials.token()).toBeUndefined();
});

it("reads certificates and tokens from files next to the kubeconfig", () => {
  write("ca.crt", "CA");
  write("user.token", "TOKEN");
  const path = kubeconfig({ server: "https://h", "certificate-authority": "ca.crt" }, { tokenFile: "user.token" });
  const credentials = kubeconfigCredentials(path);
  expect(credentials.tls().ca?.toString()).toBe("CA");
  expect(credentials.token()?.reveal()).toBe("TOKEN");
});

it("prints neither key nor token", () => {
  const path = kubeconfig({ server: "https://h" }, { "client-key-data": base64("KEY"), token: "TOKEN" });
  const credentials = kubeconfigCredentials(path);
  expect(credentials.token()?.reveal()).toBe("TOKEN");
  const printed = [
    inspect(credentials, { depth: 9 }),
    inspect(credentials.tls()),
    JSON.stringify(credentials),
    inspect(credentials.token()),
  ].join();
  expect(printed).not.toMatch(/KEY|TOKEN/);
});

it("refuses YAML and names the command that makes it JSON", () => {
  const path = write("yaml", "apiVersion: v1\nkind: Config\n");
  expect(() => kubeconfigCredentials(path)).toThrow(
    expect.objectContaining({ kind: "invalid", hint: expect.stringContaining("-o json") }),
  );
});

it("names the entry that is missing", () => {
  const path = write("kubeconfig", JSON.stringify({ "current-context": "gone", contexts: [] }));
  expect(() => kubeconfigCredentials(path)).toThrow('no entry "gone" in contexts');
});
