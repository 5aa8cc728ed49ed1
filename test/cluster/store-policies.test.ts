/** What PersistentVolumes and StorageClasses may say about store and identity where there are several stores, one of them with STS. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { Manifest } from "../chart/rendered-chart.ts";
import { openCluster } from "../support/cluster.ts";
import { long } from "../support/stage.ts";
import { trialClass, trialVolume, tried, volumePoliciesWith, withVolumePolicies } from "../support/volume-policies.ts";

const cluster = openCluster();
const policies = volumePoliciesWith({
  "s3.endpointUrl": "https://s3.example.com",
  "s3.formerEndpointUrls[0]": "http://old.example.com:8000/gateway/",
  "s3.stores.minio.endpointUrl": "https://minio.example.com:9000",
  "s3.stores.minio.sts.endpointUrl": "https://minio.example.com:9000",
  "s3.stores.one.endpointUrl": "http://shared.example.com",
  "s3.stores.one.formerEndpointUrls[0]": "https://minio.example.com:9000",
  "s3.stores.other.endpointUrl": "http://shared.example.com",
  "podIdentity.enabled": "true",
});
let inForce: AsyncDisposable;

beforeAll(async () => {
  inForce = await withVolumePolicies(cluster, policies);
  // The rules of another test may be in force for a moment.
  await vi.waitFor(async () => {
    const answer = (await answers({ store: "minio" })).join("");
    if (answer !== "acceptedaccepted") throw new Error(answer);
  }, long);
});

afterAll(async () => {
  await inForce[Symbol.asyncDispose]();
});

type Texts = Readonly<Record<string, string>>;

it("ID-4 the policies are correct for the API server", async () => {
  for (const { metadata } of policies.filter(({ kind }) => kind === "ValidatingAdmissionPolicy")) {
    const checked = async () =>
      (await cluster.get<Manifest>("ValidatingAdmissionPolicy", metadata.name))?.["status"]?.typeChecking;
    await expect.poll(checked, long).toEqual({});
  }
});

const role = "arn:aws:iam::1234:role/team";
const accepted: readonly Texts[] = [
  { store: "default" },
  { endpointUrl: "https://s3.example.com:443/" },
  { endpointUrl: "http://old.example.com:8000/gateway" },
  { endpointUrl: "https://MinIO.example.com:9000" },
  { store: "minio", endpointUrl: "https://minio.example.com:9000/" },
  { store: "minio", authenticationSource: "pod" },
  { endpointUrl: "https://minio.example.com:9000", authenticationSource: "pod", roleArn: role },
  { store: "other", endpointUrl: "http://shared.example.com" },
];

it.for(accepted)("ID-4 %j is accepted", async (texts) => {
  expect(await answers(texts)).toEqual(["accepted", "accepted"]);
});

const shared = "one (http://shared.example.com), other (http://shared.example.com)";
const listed = `use one of default (https://s3.example.com), minio (https://minio.example.com:9000), ${shared}, or add it to`;
const refused: readonly (readonly [texts: Texts, sentence: string])[] = [
  [{ store: "Minio" }, `store Minio is not a store of this installation: ${listed}`],
  [
    { endpointUrl: "https://minio.example.com" },
    `endpointUrl https://minio.example.com is not the address of a store of this installation: ${listed}`,
  ],
  [
    { endpointUrl: "http://shared.example.com" },
    "endpointUrl http://shared.example.com is the address of several stores: name one of them as store",
  ],
  [{ endpointUrl: "http://s3.example.com" }, `endpointUrl http://s3.example.com is not the address of a store`],
  [
    { store: "minio", endpointUrl: "https://s3.example.com" },
    "endpointUrl https://s3.example.com is not an address of store minio",
  ],
  [{ authenticationSource: "pod" }, "authenticationSource pod needs STS, and store default has none"],
  [{ authenticationSource: "pod" }, "set the chart value s3.sts.endpointUrl"],
  [{ store: "minio", authenticationSource: "pod", roleArn: "team" }, "roleArn is not the ARN of a role"],
  [{ store: "minio", roleArn: role }, "roleArn has no effect without authenticationSource pod"],
];

it.for(refused)("ID-4 %j is refused: %s", async ([texts, sentence]) => {
  for (const answer of await answers(texts)) expect(answer).toContain(sentence);
});

it("ID-1 a class may derive the role from the claim", async () => {
  const parameters = {
    ...{ store: "minio", authenticationSource: "pod" },
    roleArn: "arn:aws:iam::1234:role/s3-${pvc.namespace}",
  };
  expect(await tried(cluster, JSON.stringify(trialClass({ parameters })))).toBe("accepted");
  const unknown = { ...parameters, roleArn: "arn:aws:iam::1234:role/s3-${pvc.team}" };
  expect(await tried(cluster, JSON.stringify(trialClass({ parameters: unknown })))).toContain(
    "parameters.roleArn is not the ARN of a role",
  );
});

/** What the API server says to a PersistentVolume and to a StorageClass with these texts. */
function answers(texts: Texts): Promise<readonly string[]> {
  const objects = [trialVolume({ attributes: texts }), trialClass({ parameters: texts })];
  return Promise.all(objects.map((object) => tried(cluster, JSON.stringify(object))));
}
