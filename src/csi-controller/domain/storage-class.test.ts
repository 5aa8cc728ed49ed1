import { expect, it } from "vitest";
import { parseClassParameters, strictest } from "./storage-class.ts";

const claim = { "csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "team-a" };

function parsed(raw: Readonly<Record<string, string>>) {
  return parseClassParameters({ ...claim, ...raw }, "pvc-1");
}

it("has defaults and ignores unknown parameters", () => {
  expect(parsed({ bucketNamePrefix: "", fsType: "x", "some/thing": "else" })).toEqual({
    bucket: { kind: "own" },
    region: undefined,
    deletePolicy: "delete-if-empty",
    tags: {},
    claim: { namespace: "team-a", name: "data" },
    store: { store: undefined, endpointUrl: undefined },
    podIdentity: undefined,
  });
});

it.for([
  [{ bucketNamePrefix: "x-" }, { bucket: { kind: "named", prefix: "x-" } }],
  [{ bucketNamePrefix: "${pvc.namespace}-${pvc.name}" }, { bucket: { kind: "named", prefix: "team-a-data" } }],
  [{ bucketNamePrefix: "${pv.name}" }, { bucket: { kind: "named", prefix: "pvc-1" } }],
  [{ sharedBucket: "all" }, { bucket: { kind: "shared", bucket: "all" } }],
  [
    { sharedBucket: "all", sharedBucketPrefix: "${pvc.namespace}" },
    { bucket: { kind: "shared", bucket: "all", below: "team-a/" } },
  ],
  [
    { sharedBucket: "all", sharedBucketPrefix: "teams/${pvc.namespace}/${pvc.name}-x/" },
    { bucket: { kind: "shared", bucket: "all", below: "teams/team-a/data-x/" } },
  ],
  [{ sharedBucket: "all", sharedBucketPrefix: " " }, { bucket: { kind: "shared", bucket: "all" } }],
  [{ store: " minio " }, { store: { store: "minio", endpointUrl: undefined } }],
  [{ endpointUrl: "http://m" }, { store: { store: undefined, endpointUrl: "http://m" } }],
  [{ authenticationSource: "pod" }, { podIdentity: { roleArn: undefined } }],
  [
    { authenticationSource: "pod", roleArn: "arn:aws:iam::1:role/${pvc.namespace}" },
    { podIdentity: { roleArn: "arn:aws:iam::1:role/team-a" } },
  ],
  [{ authenticationSource: "driver" }, { podIdentity: undefined }],
  [{ authenticationSource: "secret" }, { podIdentity: undefined }],
  [{ region: "eu-west-1" }, { region: "eu-west-1" }],
  [{ region: " " }, { region: undefined }],
  [{ deletePolicy: "purge" }, { deletePolicy: "purge" }],
  [{ tags: "team=a, of=${pvc.namespace}/${pvc.name},empty" }, { tags: { team: "a", of: "team-a/data", empty: "" } }],
] as const)("%j", ([raw, expected]) => {
  expect(parsed(raw)).toMatchObject(expected);
});

it.for(Object.keys(claim))("needs both the name and the namespace of the claim: without %s it has none", (missing) => {
  const { [missing as keyof typeof claim]: _missing, ...rest } = claim;
  expect(parseClassParameters(rest, "pvc-1").claim).toBeUndefined();
});

it("takes as many tags as a bucket has room for", () => {
  const tags = Array.from({ length: 40 }, (_, i) => `t${i}=1`).join(",");
  expect(Object.keys(parsed({ tags }).tags)).toHaveLength(40);
});

it.for([
  [{ sharedBucket: "A" }, /parameters.sharedBucket "A" is not a valid bucket name/],
  [{ sharedBucket: "all", bucketNamePrefix: "x" }, /parameters.sharedBucket and bucketNamePrefix exclude each other/],
  [{ sharedBucketPrefix: "x" }, /parameters.sharedBucketPrefix needs sharedBucket/],
  [{ sharedBucket: "all", sharedBucketPrefix: "/a" }, /parameters.sharedBucketPrefix "\/a\/" is not a prefix/],
  [{ sharedBucket: "all", sharedBucketPrefix: "a//b" }, /is not a prefix of directories/],
  [{ sharedBucket: "all", sharedBucketPrefix: "a/../b" }, /is not a prefix of directories/],
  [{ sharedBucket: "all", sharedBucketPrefix: "/" }, /is not a prefix of directories/],
  [{ sharedBucket: "all", sharedBucketPrefix: "a\u0000" }, /is not a prefix of directories/],
  [{ sharedBucket: "all", sharedBucketPrefix: "é".repeat(256) }, /has more than 512 bytes/],
  [{ sharedBucket: "all", sharedBucketPrefix: "${pvc.uid}" }, /has the unknown variable/],
  [{ authenticationSource: "Pod" }, /parameters.authenticationSource "Pod" is not known/],
  [{ roleArn: "arn:aws:iam::1:role/a" }, /parameters.roleArn has no effect without authenticationSource pod/],
  [{ authenticationSource: "pod", roleArn: "admin" }, /parameters.roleArn "admin" is not the ARN of a role/],
  [{ region: "a b" }, /parameters.region "a b" is not a valid region name/],
  [{ deletePolicy: "keep" }, /parameters.deletePolicy "keep" is not a known policy/],
  [{ tags: "=x" }, /parameters.tags has "=x", which is not a valid tag/],
  [{ tags: "aws:x=1" }, /parameters.tags has the key "aws:x", which is reserved/],
  [{ tags: "s3.csi.scality.com/volume-id=1" }, /reserved/],
  [{ tags: Array.from({ length: 41 }, (_, i) => `t${i}=1`).join(",") }, /parameters.tags has 41 tags/],
  [{ bucketNamePrefix: "${pvc.uid}" }, /parameters.bucketNamePrefix has the unknown variable \$\{pvc.uid\}/],
] as const)("refuses %j with the name of the parameter", ([raw, problem]) => {
  expect(() => parsed(raw)).toThrow(problem);
});

it("names the flag of csi-provisioner that sends the claim when a variable needs it", () => {
  expect(() => parseClassParameters({ tags: "of=${pvc.name}" }, "pvc-1")).toThrow(
    expect.objectContaining({ kind: "invalid", hint: expect.stringContaining("--extra-create-metadata") }),
  );
});

it("of two policies, the one that keeps more data wins", () => {
  expect(strictest(["purge", "delete-if-empty"])).toBe("delete-if-empty");
  expect(strictest(["refuse-until-empty", "delete-if-empty"])).toBe("refuse-until-empty");
  expect(strictest(["purge", "retain"])).toBe("retain");
  expect(strictest(["purge"])).toBe("purge");
  expect(strictest([])).toBeUndefined();
});
