import { expect, it } from "vitest";
import { secretAccess } from "../../../test/support/fake-credentials.ts";
import { credentialsOf } from "../../../test/support/fake-node.ts";
import { defaultStore, type StoreName } from "../../core/stores/store.ts";
import { type Access, isFor } from "./access.ts";

const minio = "minio" as StoreName;
const account = { namespace: "team-a", name: "reader" };
const role = "arn:minio:iam:::role/x";
const driver: Access = { source: "driver", store: minio };
const secret: Access = { ...secretAccess(credentialsOf("own")), store: minio };
const pod: Access = { source: "pod", store: minio, account, role };

it.for([
  ["driver@minio", driver, true],
  ["driver", driver, false],
  ["driver", { ...driver, store: defaultStore }, true],
  ["secret:team-a/keys@minio", driver, false],
  ["secret:team-a/keys@minio", secret, true],
  ["secret:team-a/keys@ring", secret, false],
  // The Secret names the store, and the volume does not.
  ["secret:team-a/keys", secret, true],
  ["driver@minio", secret, false],
  [`pod:team-a/reader@minio#${role}`, pod, true],
  ["pod:team-a/reader@minio", pod, false],
  [`pod:team-a/reader#${role}`, pod, false],
  [`pod:team-b/reader@minio#${role}`, pod, false],
  [`pod:team-a/writer@minio#${role}`, pod, false],
] as const)(
  "SE-6 ID-1 ID-4 a Mountpoint Pod with the identity %j serves such credentials only: %j",
  ([identity, access, expected]) => {
    expect(isFor(identity, access)).toBe(expected);
  },
);
