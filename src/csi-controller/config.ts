/** Flags and environment → the configuration of the CSI controller service, or every mistake at once. */

import type { Stores } from "../core/stores/store.ts";
import type { Proxy } from "../core/volume/proxy.ts";
import { endpoint, healthPort, metricsSettings } from "../csi/settings.ts";
import { type ApiLocation, apiLocationFrom, apiSettings } from "../kube/client/api-location.ts";
import type { Ref } from "../kube/client/client.ts";
import { verbosity } from "../runtime/log-settings.ts";
import { integer, namespacedName, seconds, text, toggle, url } from "../runtime/settings/kinds.ts";
import { type Environment, readSettings, type Settings } from "../runtime/settings/settings.ts";
import {
  type DriverCredentialsConfig,
  driverCredentialSettings,
  driverCredentialsFrom,
} from "../s3/driver-credentials.ts";
import type { StoreLimits } from "../s3/object-store.ts";
import { proxyFrom, proxySettings } from "../s3/proxy-settings.ts";
import { podIdentitySettings, storeSettings, storesOf } from "../s3/store-settings.ts";
import type { OwnPod } from "./orphans/orphan-reports.ts";
import type { OrphanTimes } from "./orphans/orphans.ts";

export interface CsiControllerConfig {
  /** Where the CSI service listens. */
  readonly endpoint: string;
  readonly verbosity: number;
  /** undefined: the program serves no health port, as under manifests of 2.x. */
  readonly healthPort: number | undefined;
  /** Whether the health port serves metrics. */
  readonly metrics: boolean;
  /** Whether the API server decides who may read the metrics (SE-7). */
  readonly metricsAuthorization: boolean;
  readonly stores: Stores;
  /** Of requests to each store. */
  readonly storeLimits: StoreLimits;
  /** Whether volumes may use credentials for the service account of the workload. */
  readonly podIdentity: boolean;
  /** Tokens of the controller's service account, one for each store with `sts.provisioner`; the files have the names of the stores. */
  readonly tokenDir: string;
  /** A file with certificates that are trusted in addition to those of the system. */
  readonly caBundle: string | undefined;
  /** The file of the system roots; undefined: that of the image. */
  readonly systemRoots: string | undefined;
  readonly proxy: Proxy;
  /** At the default store. */
  readonly driverCredentials: DriverCredentialsConfig;
  /** Where the Secrets of the other stores are; undefined: unknown, as under manifests of 2.x. */
  readonly secretNamespace: string | undefined;
  /** Whether a class that names a Secret for provisioning or for mounting only may use the driver's credentials for the other. */
  readonly fallbackToDriverCredentials: boolean;
  readonly orphans: OrphanTimes;
  /** The ConfigMap with the records of protected Secrets; undefined: no Secret is protected, as under manifests of 2.x. */
  readonly protectedSecrets: Ref | undefined;
  /** The Pod of this process; undefined: unknown, as under manifests of 2.x. */
  readonly pod: OwnPod | undefined;
  /** Ask every store once, print the result and end, instead of serving. */
  readonly checkStore: boolean;
  readonly api: ApiLocation;
}

/** The flags and variables of 2.x, and those that our chart and our tests pass. */
const declared = {
  endpointUrl: { variable: "AWS_ENDPOINT_URL", kind: url, required: "it is the address of the S3 service" },
  verbosity,
  endpoint,
  // The node plugin has these two, and is the same command in manifests of 2.x.
  nodeId: { flag: "node-id", kind: text },
  mountpointVersion: { flag: "mp-version", kind: text },
  healthPort,
  ...metricsSettings,
  region: { variable: "AWS_REGION", kind: text, default: "us-east-1" },
  ...storeSettings,
  ...podIdentitySettings,
  tokenDir: { flag: "provisioner-token-dir", kind: text, default: "/provisioner-tokens" },
  // With these defaults a call ends before the provisioner's timeout of 120 seconds.
  connectMs: { flag: "s3-connect-seconds", kind: seconds({ min: 0, max: 3_600 }), default: 5_000 },
  answerMs: { flag: "s3-answer-seconds", kind: seconds({ min: 0, max: 3_600 }), default: 10_000 },
  attempts: { flag: "s3-attempts", kind: integer({ min: 0, max: 100 }), default: 4 },
  caBundle: { variable: "AWS_CA_BUNDLE", kind: text },
  systemRoots: { variable: "SSL_CERT_FILE", kind: text },
  // How often to look for buckets without a volume (0: never), and how long a bucket must stay one before it is reported.
  orphanEveryMs: { flag: "orphan-look-seconds", kind: seconds({ min: 0, max: 1_000_000 }), default: 3_600_000 },
  orphanSettleMs: { flag: "orphan-settle-seconds", kind: seconds({ min: 0, max: 3_600 }), default: 60_000 },
  checkStore: { flag: "check-store", kind: toggle, default: false },
  ...driverCredentialSettings,
  protectedSecrets: { flag: "protected-secrets", kind: namespacedName },
  podNamespace: { variable: "POD_NAMESPACE", kind: text },
  podName: { variable: "POD_NAME", kind: text },
  podUid: { variable: "POD_UID", kind: text },
  ...proxySettings,
  ...apiSettings,
} as const satisfies Settings;

/** Throws one Error that names every mistake. */
export function csiControllerConfigFrom(args: readonly string[], env: Environment): CsiControllerConfig {
  const settings = readSettings(declared, { args, env }, [storesOf, driverCredentialsFrom, apiLocationFrom]);
  const { connectMs, answerMs, attempts } = settings;
  return Object.freeze<CsiControllerConfig>({
    endpoint: settings.endpoint,
    verbosity: settings.verbosity,
    healthPort: settings.healthPort,
    metrics: settings.metrics,
    metricsAuthorization: settings.metricsAuthorization,
    stores: storesOf(settings),
    storeLimits: { connectMs, answerMs, attempts },
    podIdentity: settings.podIdentity,
    tokenDir: settings.tokenDir,
    caBundle: settings.caBundle,
    systemRoots: settings.systemRoots,
    proxy: proxyFrom(settings),
    driverCredentials: driverCredentialsFrom(settings),
    secretNamespace: settings.credentialsSecret?.namespace ?? settings.podNamespace,
    fallbackToDriverCredentials: !settings.noDriverCredentialsFallback,
    orphans: { everyMs: settings.orphanEveryMs, settleMs: settings.orphanSettleMs },
    protectedSecrets: settings.protectedSecrets,
    pod: podFrom(settings),
    checkStore: settings.checkStore,
    api: apiLocationFrom(settings),
  });
}

function podFrom({ podNamespace, podName, podUid }: PodValues): OwnPod | undefined {
  if (podNamespace === undefined || podName === undefined || podUid === undefined) return undefined;
  return { namespace: podNamespace, name: podName, uid: podUid };
}

interface PodValues {
  readonly podNamespace: string | undefined;
  readonly podName: string | undefined;
  readonly podUid: string | undefined;
}
