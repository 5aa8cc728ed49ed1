/** What the chart tells the programs about stores and identities, read by the programs themselves. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nodeConfigFrom } from "../../src/node/config.ts";
import { reconcilerConfigFrom } from "../../src/reconciler/config.ts";
import { chartDirectory, containerOf, type Manifest, notes, only, render } from "./rendered-chart.ts";

const programs = ["s3-plugin", "s3-csi-controller", "s3-pod-reconciler"] as const;
type Program = (typeof programs)[number];

function environmentOf(chart: readonly Manifest[], program: Program): Readonly<Record<string, string>> {
  const passed = containerOf(chart, program).env.map(({ name, value }) => [name, value ?? "x"]);
  const ofPod = { MOUNTPOINT_VERSION: "1.24.0", KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };
  return { ...ofPod, ...Object.fromEntries(passed) };
}

/** Without kubelet's expansions, which no test needs. */
const flagsOf = (chart: readonly Manifest[], program: Program) =>
  containerOf(chart, program).args.filter((flag) => !flag.includes("$("));

const nodeOf = (chart: readonly Manifest[]) =>
  nodeConfigFrom(flagsOf(chart, "s3-plugin"), environmentOf(chart, "s3-plugin"));
const reconcilerOf = (chart: readonly Manifest[]) =>
  reconcilerConfigFrom(flagsOf(chart, "s3-pod-reconciler"), environmentOf(chart, "s3-pod-reconciler"), "3");

/** With the values of a file, as most users pass them. */
function renderFile(text: string): readonly Manifest[] {
  const directory = mkdtempSync(join(tmpdir(), "values-"));
  try {
    writeFileSync(join(directory, "values.yaml"), text);
    return render({}, chartDirectory, ["--values", join(directory, "values.yaml")]);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const rulesOf = (chart: readonly Manifest[], policy: string) =>
  JSON.stringify(only(chart, "ValidatingAdmissionPolicy", policy)["spec"].validations);

const tokenVolumeOf = (chart: readonly Manifest[]) =>
  only(chart, "Deployment")["spec"].template.spec.volumes.find(
    ({ name }: { name: string }) => name === "provisioner-tokens",
  );

interface PodSpec {
  readonly containers: readonly {
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  }[];
  readonly volumes: readonly { readonly name: string }[];
}

const certificate = "-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n";
const sts = { "s3.sts.endpointUrl": "https://sts.example.com" };
const minio = { "s3.stores.minio.endpointUrl": "https://minio.example.com:9000" };
const minioSts = {
  ...minio,
  "s3.stores.minio.sts.endpointUrl": "https://minio.example.com:9000",
  "s3.stores.minio.sts.audience": "minio",
};
const podIdentity = { ...sts, "podIdentity.enabled": "true" };

describe("as it comes", () => {
  const chart = render();

  it("ID-4 there is one store, and no program gets a list", () => {
    for (const program of programs) expect(environmentOf(chart, program)).not.toHaveProperty("S3_STORES");
    const [usual, ...others] = nodeOf(chart).stores.values();
    expect(usual).toMatchObject({ name: "default", endpointUrl: "http://s3.example.com:8000", sts: undefined });
    expect(others).toEqual([]);
    expect(reconcilerOf(chart).installation.stores).toEqual(nodeOf(chart).stores);
  });

  it("ID-1 there are neither tokens nor rights for them", () => {
    expect(only(chart, "CSIDriver")["spec"]).not.toHaveProperty("tokenRequests");
    expect(JSON.stringify(chart)).not.toMatch(/serviceAccountToken|--pod-identity|provisioner-token/);
    expect(JSON.stringify(only(chart, "ClusterRole", "s3-csi-driver-cluster-role"))).not.toContain("serviceaccounts");
    expect(nodeOf(chart).podIdentity).toBe(false);
    expect(reconcilerOf(chart).installation.podIdentity).toBe(false);
  });
});

it("ID-4 every program gets every member of every store, also of the default one", () => {
  const chart = renderFile(`
s3:
  endpointUrl: https://s3.example.com
  region: eu-west-1
  uploadChecksums: crc32c
  formerEndpointUrls: [http://old.example.com]
  sts: { endpointUrl: https://sts.example.com, audience: s3, roleArn: "arn:aws:iam::1234:role/w", durationSeconds: 43200 }
  stores:
    minio:
      endpointUrl: https://minio.example.com:9000
      region: eu-central-1
      pathStyle: false
      caCertData: ${JSON.stringify(certificate)}
      formerEndpointUrls: [https://a.example.com, https://b.example.com]
      credentialSecret: { name: minio-keys, accessKeyId: id }
      sts: { endpointUrl: "https://minio.example.com:9000", provisioner: { enabled: true, roleArn: "arn:minio:iam:::role/x" } }
    plain: { endpointUrl: "http://plain.example.com" }
    gone: null
`);
  const { stores } = nodeOf(chart);
  expect([...stores.values()]).toEqual([
    {
      name: "default",
      endpointUrl: "https://s3.example.com",
      formerEndpointUrls: ["http://old.example.com"],
      region: "eu-west-1",
      pathStyle: true,
      caCertificates: undefined,
      uploadChecksums: "crc32c",
      credentials: undefined,
      sts: {
        endpointUrl: "https://sts.example.com",
        caCertificates: undefined,
        audience: "s3",
        roleArn: "arn:aws:iam::1234:role/w",
        sessionSeconds: 43_200,
        provisioner: undefined,
      },
    },
    {
      name: "minio",
      endpointUrl: "https://minio.example.com:9000",
      formerEndpointUrls: ["https://a.example.com", "https://b.example.com"],
      region: "eu-central-1",
      pathStyle: false,
      caCertificates: certificate.trim(),
      uploadChecksums: undefined,
      credentials: {
        secret: "minio-keys",
        accessKeyIdField: "id",
        secretAccessKeyField: "secret_access_key",
        sessionTokenField: "session_token",
      },
      sts: {
        endpointUrl: "https://minio.example.com:9000",
        caCertificates: undefined,
        audience: "sts.amazonaws.com",
        roleArn: undefined,
        sessionSeconds: 3600,
        provisioner: { roleArn: "arn:minio:iam:::role/x" },
      },
    },
    expect.objectContaining({ name: "plain", endpointUrl: "http://plain.example.com", region: "us-east-1" }),
  ]);
  expect(reconcilerOf(chart).installation.stores).toEqual(stores);
  const lists = programs.map((program) => environmentOf(chart, program)["S3_STORES"]);
  expect(new Set(lists).size).toBe(1);
});

it.for([
  ["off", "off"],
  ['"off"', "off"],
  ["crc64nvme", "crc64nvme"],
  ['""', undefined],
  ["null", undefined],
] as const)("ID-5 uploadChecksums: %s, as YAML reads it, is %s for every store", ([given, expected]) => {
  const { stores } = nodeOf(
    renderFile(`{s3: {uploadChecksums: ${given}, stores: {a: {endpointUrl: "https://a", uploadChecksums: ${given}}}}}`),
  );
  for (const { uploadChecksums } of stores.values()) expect(uploadChecksums).toBe(expected);
  expect(stores.size).toBe(2);
});

it("ID-5 the notes of an installation warn of every store without checksums", () => {
  expect(notes({ "s3.uploadChecksums": "crc32c" })).not.toContain("empty files");
  const text = notes({ ...minio, "s3.stores.minio.uploadChecksums": "off" });
  expect(text).toContain("NOTE: uploads to the store minio have no checksums (uploadChecksums is off).");
  expect(text).toContain("mount-s3 loses empty files");
  expect(text).toContain("Store minio: https://minio.example.com:9000, region us-east-1, no credentials of the driver");
});

it("ID-4 the node plugin may read the driver's Secrets of all stores, each by its name", () => {
  const secrets = {
    ...{ ...minio, "s3.stores.minio.credentialSecret.name": "minio-keys" },
    ...{ "s3.stores.a.endpointUrl": "https://a", "s3.stores.a.credentialSecret.name": "s3-secret" },
    "s3.stores.b.endpointUrl": "https://b",
  };
  expect(only(render(secrets), "Role", "s3-csi-driver-node-credentials-role")["rules"]).toEqual([
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["s3-secret", "minio-keys"], verbs: ["list", "watch"] },
  ]);
});

describe("pod identity", () => {
  const chart = render({ ...podIdentity, ...minioSts });

  it("ID-1 lets kubelet send a token for every audience, and the node plugin read the roles of accounts", () => {
    const { tokenRequests, requiresRepublish } = only(chart, "CSIDriver")["spec"];
    expect(requiresRepublish).toBe(true);
    expect(tokenRequests).toEqual([
      { audience: "minio", expirationSeconds: 3600 },
      { audience: "sts.amazonaws.com", expirationSeconds: 3600 },
    ]);
    expect(only(chart, "ClusterRole", "s3-csi-driver-cluster-role")["rules"]).toContainEqual({
      apiGroups: [""],
      resources: ["serviceaccounts"],
      verbs: ["get"],
    });
    expect(nodeOf(chart).podIdentity).toBe(true);
    expect(reconcilerOf(chart).installation.podIdentity).toBe(true);
    for (const program of programs) expect(containerOf(chart, program).args).toContain("--pod-identity");
  });

  it("ID-1 requests one token where stores have the same audience, as the API server demands, with the given life", () => {
    const shared = { "s3.stores.minio.sts.audience": "sts.amazonaws.com" };
    const same = render({ ...podIdentity, ...minioSts, ...shared, "podIdentity.tokenExpirationSeconds": "600" });
    expect(only(same, "CSIDriver")["spec"].tokenRequests).toEqual([
      { audience: "sts.amazonaws.com", expirationSeconds: 600 },
    ]);
  });

  it.for([
    ["1.34.3", undefined],
    ["1.35.0", true],
    ["1.37.1-gke.1", true],
  ] as const)("ID-1 Kubernetes %s: tokens among the secrets: %s", ([kubernetes, inSecrets]) => {
    const rendered = render(podIdentity, chartDirectory, ["--kube-version", kubernetes]);
    expect(only(rendered, "CSIDriver")["spec"].serviceAccountTokenInSecrets).toBe(inSecrets);
  });

  it("ID-1 is refused by the API server where it is off, or the store has no STS", () => {
    for (const name of ["s3-csi-volumes", "s3-csi-storage-classes"]) {
      expect(rulesOf(render(), name)).toContain("authenticationSource pod is not enabled in this installation");
      const rules = rulesOf(render({ ...minio, ...podIdentity }), name);
      expect(rules).not.toContain("is not enabled");
      expect(rules).toContain("variables.store in ['default']");
      expect(rules).toContain(
        "use one of default (http://s3.example.com:8000), minio (https://minio.example.com:9000)",
      );
    }
  });
});

it.for([
  ["the default store", sts, "store default (https://sts.example.com)"],
  [
    "another store",
    { "s3.stores.z.endpointUrl": "https://z", "s3.stores.z.sts.endpointUrl": "https://sts.z" },
    "store z (https://sts.z)",
  ],
] as const)("ID-4 the default audience of a store is refused if it is that of the STS of %s", ([, other, named]) => {
  const own = { ...other, ...minioSts, "s3.stores.minio.sts.audience": "" };
  expect(() => render(own)).toThrow(/sts\.audience must be set: with its default, sts\.amazonaws\.com, the tokens/);
  expect(() => render(own)).toThrow(named);
});

it("ID-4 one STS under two names, or alone, has the default audience", () => {
  const same = { ...minio, "s3.stores.minio.sts.endpointUrl": "https://sts.example.com/" };
  for (const values of [same, { ...sts, ...same }]) {
    expect([...nodeOf(render(values)).stores.values()].at(-1)?.sts?.audience).toBe("sts.amazonaws.com");
  }
});

describe("credentials of the provisioner", () => {
  it("ID-1 come from a token of the controller's own account, one for each store that has them", () => {
    const enabled = { "s3.sts.provisioner.enabled": "true", "s3.stores.minio.sts.provisioner.enabled": "true" };
    const chart = render({ ...sts, ...minioSts, ...enabled });
    expect(tokenVolumeOf(chart).projected.sources).toEqual([
      { serviceAccountToken: { path: "default", audience: "sts.amazonaws.com", expirationSeconds: 3600 } },
      { serviceAccountToken: { path: "minio", audience: "minio", expirationSeconds: 3600 } },
    ]);
    const { args, volumeMounts } = containerOf(chart, "s3-csi-controller") as never as Mounting;
    const directory = "/provisioner-tokens";
    expect(args).toContain(`--provisioner-token-dir=${directory}`);
    expect(volumeMounts).toContainEqual({ name: "provisioner-tokens", mountPath: directory, readOnly: true });
    for (const other of ["s3-pod-reconciler", "csi-provisioner"])
      expect(JSON.stringify(containerOf(chart, other))).not.toContain("provisioner-token");
  });

  it("ID-1 bring no token to the controller where they are off", () => {
    expect(tokenVolumeOf(render({ ...sts, ...minioSts }))).toBeUndefined();
  });
});

interface Mounting {
  readonly args: readonly string[];
  readonly volumeMounts: readonly object[];
}

it.for([
  [{ "s3.uploadChecksums": "md5" }, "s3/uploadChecksums"],
  [{ "s3.formerEndpointUrls[0]": "old.example.com" }, "s3/formerEndpointUrls/0"],
  [{ "s3.sts.endpointUrl": "sts.example.com" }, "s3/sts/endpointUrl"],
  [{ "s3.sts.caCertData": "ca.crt" }, "s3/sts/caCertData"],
  [{ ...sts, "s3.sts.roleArn": "team" }, "s3/sts/roleArn"],
  [{ ...sts, "s3.sts.durationSeconds": "899" }, "s3/sts/durationSeconds"],
  [{ ...sts, "s3.sts.durationSeconds": "43201" }, "s3/sts/durationSeconds"],
  [{ "s3.sts.endpoint": "https://sts" }, "'endpoint'"],
  [{ "s3.sts.provisioner.enabled": "perhaps" }, "s3/sts/provisioner/enabled"],
  [{ "s3.sts.roleArn": "arn:aws:iam::1234:role/w" }, "s3.sts.endpointUrl is not set"],
  [{ "s3.sts.provisioner.enabled": "true" }, "s3.sts.endpointUrl is not set"],
  [{ "s3.stores.minio.region": "eu-west-1" }, "'endpointUrl'"],
  [{ "s3.stores.minio.endpointUrl": "minio:9000" }, "s3/stores/minio/endpointUrl"],
  [{ ...minio, "s3.stores.minio.pathStyle": "perhaps" }, "s3/stores/minio/pathStyle"],
  [{ ...minio, "s3.stores.minio.caCertData": "ca.crt" }, "s3/stores/minio/caCertData"],
  [{ ...minio, "s3.stores.minio.secret": "keys" }, "'secret'"],
  [{ ...minio, "s3.stores.minio.credentialSecret.name": "Not_A_Name" }, "s3/stores/minio/credentialSecret/name"],
  [{ ...minio, "s3.stores.minio.credentialSecret.accessKeyId": "id" }, "'name'"],
  [{ ...minio, "s3.stores.minio.sts.roleArn": "arn:aws:iam::1234:role/w" }, "s3.stores.minio.sts.endpointUrl is not"],
  [{ "s3.stores.default.endpointUrl": "https://x" }, "s3.stores.default: this name is that of the store of"],
  [{ "s3.stores.Minio.endpointUrl": "https://x" }, "'Minio'"],
  [{ "s3.stores.seventeen-letters.endpointUrl": "https://x" }, "'seventeen-letters'"],
  [{ ...podIdentity, "podIdentity.tokenExpirationSeconds": "599" }, "podIdentity/tokenExpirationSeconds"],
  [{ "podIdentity.enabled": "true" }, "podIdentity.enabled needs a store with STS: set s3.sts.endpointUrl, or"],
  [{ ...minio, "podIdentity.enabled": "true" }, "podIdentity.enabled needs a store with STS"],
] as const)("ID-4 %j is refused before anything is installed, and %s is named", ([values, named]) => {
  expect(() => render(values)).toThrow(named);
});

it("ID-1 the node plugin trusts the authority of the installation at STS, and gets no file without identities", () => {
  const tls = { "tls.caCertConfigMap": "authorities" };
  const withIdentities = render({ ...podIdentity, ...tls });
  const { caBundle = "" } = nodeOf(withIdentities);
  const { containers, volumes }: PodSpec = only(withIdentities, "DaemonSet")["spec"].template.spec;
  const mount = containers[0]?.volumeMounts.find(({ mountPath }) => caBundle.startsWith(`${mountPath}/`));
  expect(volumes.find(({ name }) => name === mount?.name)).toMatchObject({ configMap: { name: "authorities" } });
  expect(nodeOf(render(tls)).caBundle).toBeUndefined();
  expect(JSON.stringify(only(render(tls), "DaemonSet"))).not.toContain("authorities");
});
