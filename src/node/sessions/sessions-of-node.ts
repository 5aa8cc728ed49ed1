import type { KubeClient } from "../../kube/client/client.ts";
import { bootTimeMs } from "../../runtime/suspend-clock.ts";
import { StsClient } from "../../s3/sts/sts-client.ts";
import { trusted } from "../../s3/trust.ts";
import type { NodeConfig } from "../config.ts";
import type { RecordStorage } from "../records/mount-records.ts";
import { roleOfAccount } from "./account-role.ts";
import { PodSessions } from "./pod-sessions.ts";
import { SessionStorage } from "./session-storage.ts";

interface Needed {
  readonly client: Pick<KubeClient, "get">;
  readonly storage: RecordStorage;
  readonly driverVersion: string;
}

/** The sessions of service accounts on this node, those of a former process included. */
export function sessionsOfNode(
  { stores, proxy, caBundle, sessionLimitMs }: Pick<NodeConfig, "stores" | "proxy" | "caBundle" | "sessionLimitMs">,
  { client, storage, driverVersion }: Needed,
): PodSessions {
  const sts = new StsClient({ proxy, trusted: trusted(caBundle), userAgent: `s3-csi-driver/${driverVersion}` });
  const parts = { stores, sts, roleOf: roleOfAccount(client), storage: new SessionStorage(storage) };
  return new PodSessions({ ...parts, nowMs: bootTimeMs, sessionLimitMs });
}
