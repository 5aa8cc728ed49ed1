import { expect, it } from "vitest";
import { atDefaultStore } from "../../../test/support/fake-credentials.ts";
import { credentialsOf, FakeNode, podOf } from "../../../test/support/fake-node.ts";
import type { PodName, PodUid } from "../../core/names.ts";
import { silentLogger } from "../../runtime/log.ts";
import type { CommVolume } from "../mounts/comm-volume.ts";
import { fixedCredentials } from "./driver-credentials.ts";
import { keepDriverCredentials } from "./keep-driver-credentials.ts";

it("writes a changed key to every mount with the driver's identity and to no other, also after a failure", () => {
  using node = new FakeNode();
  const written = new Map<PodUid, string>();
  const volumeOf = (uid: PodUid): CommVolume => ({
    writeCredentials: (files) => {
      if (uid === "going") throw new Error("its volume is just being removed");
      written.set(uid, files["s3-csi-keys"] ?? "");
    },
    credentialFiles: () => [],
    credentialsChangedAt: () => undefined,
    connect: () => undefined,
    askToExit: () => undefined,
    errorText: () => undefined,
    clearError: () => undefined,
    [Symbol.dispose]: () => undefined,
  });
  const listeners: (() => void)[] = [];
  let credentials = credentialsOf("old");
  const driverCredentials = {
    ...fixedCredentials(credentials),
    known: () => credentials,
    onChange: (listener: () => void) => {
      listeners.push(listener);
      return { [Symbol.dispose]: () => undefined };
    },
  };
  const comm = { ...node.credentials.comm, open: volumeOf };
  using _ = keepDriverCredentials(
    silentLogger,
    { ...node.credentials, drivers: atDefaultStore(driverCredentials), comm },
    node.cluster.mountpointPods,
  );
  const identities = { going: "driver", first: "driver", own: "secret:default/keys", old2x: undefined, last: "driver" };
  for (const [uid, identity] of Object.entries(identities)) {
    node.put(podOf({ name: `mp-${uid}` as PodName, uid: uid as PodUid, identity }));
  }

  credentials = credentialsOf("new");
  for (const changed of listeners) changed();

  expect([...written.keys()]).toEqual(["first", "last"]);
  expect(written.get("last" as PodUid)).toContain("new-secret");
});
