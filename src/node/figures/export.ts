/** Pure: how mount-s3 is asked to export its figures. */
import type { MountRequest } from "../../core/volume/mount-request.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";

/** The usual port of OTLP over HTTP. Nothing else listens in a Mountpoint Pod. */
export const exportPort = 4318;
const exportEverySeconds = 15;

/** The request for a mount-s3 that exports its figures to us, unless the volume's options say that it exports them elsewhere. */
export function withExport(request: MountRequest): MountRequest {
  if (request.args.some((arg) => arg.startsWith("--otlp-"))) return request;
  const args = [`--otlp-endpoint=http://127.0.0.1:${exportPort}`, `--otlp-export-interval=${exportEverySeconds}`];
  return {
    ...request,
    args: [...request.args, ...args].toSorted(),
    env: {
      ...request.env,
      ...withoutProxy(request.env),
      // Cumulative: an export that is lost is made up for by the next one.
      EXPERIMENTAL_MOUNTPOINT_OTLP_METRICS_TEMPORALITY_PREFERENCE: "cumulative",
    },
  };
}

/** The exporter would send to 127.0.0.1 through a proxy for HTTP, too. */
function withoutProxy({ HTTP_PROXY, NO_PROXY }: MountRequest["env"]): Readonly<Record<string, string>> {
  if (HTTP_PROXY === undefined) return {};
  return { NO_PROXY: [NO_PROXY, "127.0.0.1"].filter(Boolean).join(",") };
}

/**
 * Whether the mount-s3 of a Pod exports to us. mount-s3 in Pods of 2.x may be older than its export. In the network of the host everybody
 * on the node would reach the port.
 */
export function mayExport({ isLegacy, hostNetwork }: LocalMountpointPod): boolean {
  return !isLegacy && !hostNetwork;
}

/** mount-s3 exports its figures since 1.21. */
export function exportsFigures(mountpointVersion: string): boolean {
  const [major = 0, minor = 0] = mountpointVersion.replace(/^v/, "").split(".").map(Number);
  return major > 1 || (major === 1 && minor >= 21);
}
