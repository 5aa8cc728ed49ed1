import { expect, it } from "vitest";
import { call, FakeNode, kubeletDir, podOf, volume, workload } from "../../../test/support/fake-node.ts";
import { publishRequestFor } from "../../../test/support/publish-request.ts";
import type { NodePublishVolumeRequest } from "../../csi/gen/csi.ts";
import { parseRequest } from "./parse-request.ts";
import { publish } from "./publish.ts";

const good = { ...publishRequestFor({ claim: volume, bucket: "photos", workload, kubeletDir }), volumeId: "photos" };
const bad: Readonly<Record<string, Partial<NodePublishVolumeRequest>>> = {
  "a Secret without a key": {
    volumeContext: { bucketName: "photos", authenticationSource: "secret" },
    secrets: { access_key_id: "id" },
  },
  "no keys of its own, which are demanded": { volumeContext: { bucketName: "photos", authenticationSource: "secret" } },
  "no capability": { volumeCapability: undefined },
};

/** The driver's credentials must not replace the credentials of a volume. */
function strictNode(): FakeNode {
  const node = new FakeNode().knows(podOf(), workload);
  Object.assign(node.rooms.publishing.settings, { fallbackToDriverCredentials: false });
  return node;
}

it.for(Object.entries(bad))("a request with %s is refused with a final error", ([, more]) => {
  using node = strictNode();
  expect(() => parseRequest(node.rooms.publishing, { ...good, ...more })).toThrow(
    expect.objectContaining({ kind: "invalid" }),
  );
});

it.for(Object.entries(bad))(
  "a request with %s for a volume that is mounted is refused so that kubelet remembers the mount",
  async ([, more]) => {
    using node = strictNode();
    await publish(call, node.rooms.publishing, parseRequest(node.rooms.publishing, good));
    expect(() => parseRequest(node.rooms.publishing, { ...good, ...more })).toThrow(
      expect.objectContaining({ kind: "notReady" }),
    );
  },
);
