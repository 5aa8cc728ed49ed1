import { expect, it, vi } from "vitest";
import { call } from "../../../test/support/fake-node.ts";
import { DriverError } from "../../core/errors.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import { roleOfAccount } from "./account-role.ts";

const account = { namespace: "team-a", name: "reader" };
const own = "s3.csi.scality.com/role-arn";
const ofEks = "eks.amazonaws.com/role-arn";
const role = "arn:aws:iam::123456789012:role/reader";

function roleWith(annotations: Readonly<Record<string, string>> | undefined): Promise<string | undefined> {
  const get = async (_call: unknown, kind: unknown, name: unknown) => {
    expect([kind, name]).toEqual([kinds.serviceAccounts, account]);
    return { metadata: { ...account, annotations } };
  };
  return roleOfAccount({ get: get as never })(call, account);
}

it.for([
  ["no annotations", undefined, undefined],
  ["other annotations", { other: role }, undefined],
  ["an empty annotation", { [own]: "" }, undefined],
  ["the annotation of this driver", { [own]: ` ${role}\n` }, role],
  ["the annotation of EKS", { [ofEks]: role }, role],
  ["both", { [ofEks]: "arn:aws:iam::1:role/other", [own]: role }, role],
] as const)("ID-1 the role of an account with %s", async ([, annotations, expected]) => {
  expect(await roleWith(annotations)).toBe(expected);
});

it("ID-3 an annotation that is no role is named, with the account", async () => {
  await expect(roleWith({ [ofEks]: "reader" })).rejects.toMatchObject({
    kind: "invalid",
    message: expect.stringMatching(/eks\.amazonaws\.com\/role-arn of service account team-a\/reader/),
  });
});

it("ID-3 an account that was deleted gets no new session, although its last token still has some time", async () => {
  const gone = roleOfAccount({ get: async () => undefined })(call, account);
  await expect(gone).rejects.toMatchObject({ kind: "denied", message: expect.stringContaining("team-a/reader") });
});

it.for([
  [429, "notReady"],
  [500, "notReady"],
  [503, "notReady"],
  [504, "notReady"],
  [403, undefined],
] as const)("ID-2 a %d of the API server for the account has the kind %s", async ([code, kind]) => {
  const client = { get: () => Promise.reject(new ApiError(code, "", "no")) };
  const expected = kind === undefined ? { code } : { kind };
  await expect(roleOfAccount(client)(call, account)).rejects.toMatchObject(expected);
});

const unreachable = { get: () => Promise.reject(new DriverError("notReady", "the connection failed")) };

it("ID-2 an API server that cannot be reached is no refusal", async () => {
  await expect(roleOfAccount(unreachable)(call, account)).rejects.toMatchObject({
    kind: "notReady",
    message: "service account team-a/reader cannot be read",
  });
});

const hanging = {
  get: ({ signal }: Call) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    }),
};

it("ID-2 an API server that does not answer holds up a renewal for ten seconds", async () => {
  vi.useFakeTimers();
  try {
    const failed = vi.fn<(error: unknown) => void>();
    roleOfAccount(hanging)(call, account).catch(failed);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(failed.mock.calls).toMatchObject([[{ kind: "notReady" }]]);
  } finally {
    vi.useRealTimers();
  }
});
