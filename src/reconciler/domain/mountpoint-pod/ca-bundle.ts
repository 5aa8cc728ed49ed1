/** Trust for object stores with a private certificate authority: the roots of the system and of the installation in one file. */

import { caBundle } from "../../../core/names.ts";
import type { ContainerResources } from "../../../core/volume/container-resources.ts";

/** The CA bundle of an installation. */
export interface CaBundle {
  /** Name of a ConfigMap in the namespace of Mountpoint Pods. */
  readonly configMap: string;
  /** Of the certificates, if they are known; empty: they are not. */
  readonly checksum: string;
  /** An image with a shell, `cat` and the roots of the system in /etc/ssl/certs. */
  readonly image: string;
  readonly imagePullPolicy: string;
  readonly resources: ContainerResources;
}

/** The two volumes of a Pod that trusts the bundle. */
export function caVolumes({ configMap }: CaBundle) {
  return [
    { name: caBundle.configMapVolume, configMap: { name: configMap } },
    { name: caBundle.rootsVolume, emptyDir: { sizeLimit: "2Mi" } },
  ];
}

/** The mount of the joined roots in the container that trusts them. */
export const rootsMount = { name: caBundle.rootsVolume, mountPath: caBundle.rootsPath, readOnly: true } as const;

/** The init container that joins the two bundles: mount-s3 reads its roots from one file only. */
export function installCaContainer(bundle: CaBundle, securityContext: object) {
  const [custom, joined] = ["/custom-ca", "/joined"];
  const system = `${caBundle.rootsPath}/${caBundle.rootsFile}`;
  return {
    name: caBundle.initContainer,
    image: bundle.image,
    imagePullPolicy: bundle.imagePullPolicy,
    // A bundle may lack the final newline, and two certificates on one line cannot be parsed.
    command: [
      "sh",
      "-ec",
      `{ cat ${system}; echo; cat ${custom}/${caBundle.configMapKey}; } > ${joined}/${caBundle.rootsFile}`,
    ],
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: bundle.resources,
    securityContext,
    volumeMounts: [
      { name: caBundle.configMapVolume, mountPath: custom, readOnly: true },
      { name: caBundle.rootsVolume, mountPath: joined },
    ],
  };
}
