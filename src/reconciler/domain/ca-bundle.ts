/** Trust for object stores with a certificate authority of their own: the system's roots and the installation's together. */
import type { ContainerResources } from "../../core/container-resources.ts";
import { caBundle } from "../../core/names.ts";

/** Of the installation. */
export interface CaBundle {
  /** In the namespace of Mountpoint Pods. */
  readonly configMap: string;
  /** Has a shell, `cat` and the roots of the system in /etc/ssl/certs. */
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

/** For the container that trusts the bundle. */
export const rootsMount = { name: caBundle.rootsVolume, mountPath: caBundle.rootsPath, readOnly: true } as const;

/** Joins the bundles; mount-s3 has one place only where it looks, and takes no second one beside it. */
export function installCaContainer(bundle: CaBundle, securityContext: object) {
  const [custom, joined] = ["/custom-ca", "/joined"];
  const system = `${caBundle.rootsPath}/${caBundle.rootsFile}`;
  return {
    name: caBundle.initContainer,
    image: bundle.image,
    imagePullPolicy: bundle.imagePullPolicy,
    // A bundle need not end with a new line, and two certificates on one line are none.
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
