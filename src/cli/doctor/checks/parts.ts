/** Checks that every part of the installation is there, as the chart makes it. */
import { attachmentApi, driverName } from "../../../core/names.ts";
import type { Lease } from "../../../topology/objects.ts";
import { containerProblem } from "../../../topology/problems.ts";
import type { Finding } from "../finding.ts";
import type { FindingId } from "../finding-ids.ts";
import { type Definition, type Installation, present } from "../installation.ts";

const reinstall = "helm upgrade --install s3-csi … (the chart makes it)";

export function checkDefinition({ definition }: Installation): readonly Finding[] {
  const name = `${attachmentApi.plural}.${attachmentApi.group}`;
  const upgrade = "helm upgrade, whose hook brings the definition up to date; or kubectl apply -k . in the repository";
  if (definition === "missing") {
    const evidence = `there is no CustomResourceDefinition ${name}`;
    const summary = "Volumes cannot be mounted: the custom resource is not defined";
    return [problem("definition-missing", summary, evidence, upgrade)];
  }
  const found = present(definition);
  return found === undefined ? [] : definitionFindings(found, name, upgrade);
}

function definitionFindings({ spec }: Definition, name: string, upgrade: string): readonly Finding[] {
  const served = spec.versions.find((each) => each.name === attachmentApi.version && each.served);
  if (served === undefined) {
    const evidence = `${name} does not serve version ${attachmentApi.version}`;
    const summary = "Volumes cannot be mounted: the custom resource has another version";
    return [problem("definition-version", summary, evidence, upgrade)];
  }
  const fields = served.schema?.openAPIV3Schema?.properties?.["spec"]?.properties;
  if (fields === undefined || fields["authenticationSource"] !== undefined) return [];
  const evidence = `${name} has no field spec.authenticationSource: it is the one of 2.x`;
  return [
    warning("definition-outdated", "The custom resource definition is that of an older driver", evidence, upgrade),
  ];
}

export function checkCsiDriver({ csiDriver }: Installation): readonly Finding[] {
  if (csiDriver === "missing")
    return [
      problem(
        "csidriver-missing",
        "kubelet does not know the driver",
        `there is no CSIDriver ${driverName}`,
        reinstall,
      ),
    ];
  const spec = present(csiDriver)?.spec;
  if (spec === undefined) return [];
  const wrong = [
    ...(spec.attachRequired === false ? [] : ["attachRequired must be false"]),
    ...(spec.podInfoOnMount === true ? [] : ["podInfoOnMount must be true"]),
    ...(spec.requiresRepublish === true ? [] : ["requiresRepublish must be true"]),
  ];
  if (wrong.length === 0) return [];
  const fix = `kubectl delete csidriver ${driverName}, then helm upgrade: attachRequired cannot be changed`;
  return [
    problem("csidriver-settings", "The CSIDriver object has settings with which mounts fail", wrong.join(", "), fix),
  ];
}

export function checkMountpointNamespace({ mountpointNamespace, cluster }: Installation): readonly Finding[] {
  const name = cluster.namespaces.mountpointPods;
  if (mountpointNamespace === "missing")
    return [
      problem(
        "mountpoint-namespace-missing",
        `Mountpoint Pods cannot be made: namespace ${name} does not exist`,
        `GET namespaces/${name} answers 404`,
        reinstall,
      ),
    ];
  if (present(mountpointNamespace)?.metadata.deletionTimestamp === undefined) return [];
  const evidence = "the namespace has a deletionTimestamp";
  return [
    problem(
      "mountpoint-namespace-terminating",
      `Namespace ${name} is being deleted, and every mount with it`,
      evidence,
      `move workloads away; see kubectl get pods -n ${name}`,
    ),
  ];
}

export function checkPriorityClasses({ priorityClasses, deployment, unreadable }: Installation): readonly Finding[] {
  if (unreadable.some((each) => each.startsWith("PriorityClasses"))) return [];
  const environment = present(deployment)?.spec.template.spec.containers.flatMap(({ env = [] }) => env) ?? [];
  const wanted = environment
    .filter(({ name }) => name === "MOUNTPOINT_PRIORITY_CLASS_NAME")
    .map(({ value }) => value ?? "");
  return [...new Set(wanted)]
    .filter((name) => name !== "" && !priorityClasses.has(name))
    .map((name) =>
      problem(
        "priority-class-missing",
        `Mountpoint Pods are refused: PriorityClass ${name} does not exist`,
        "the reconciler is configured with it",
        reinstall,
      ),
    );
}

export function checkQuotas({ quotas, cluster }: Installation): readonly Finding[] {
  return quotas.flatMap(({ metadata, status }) => {
    const { hard = {}, used = {} } = status ?? {};
    const full = ["pods", "count/pods"].filter((each) => each in hard && Number(used[each]) >= Number(hard[each]));
    return full.map((each) =>
      problem(
        "quota-exhausted",
        `No more Mountpoint Pods fit: quota ${metadata.name} is used up`,
        `${each}: ${used[each]} of ${hard[each]}`,
        `kubectl edit resourcequota ${metadata.name} -n ${cluster.namespaces.mountpointPods}`,
      ),
    );
  });
}

export function checkController(installation: Installation): readonly Finding[] {
  const { deployment, cluster } = installation;
  const { driver } = cluster.namespaces;
  if (deployment === "missing")
    return [
      problem(
        "controller-missing",
        "No Mountpoint Pods and no buckets are made: the controller is not installed",
        `there is no Deployment s3-csi-controller in ${driver}`,
        reinstall,
      ),
    ];
  const found = present(deployment);
  if (found?.spec.replicas === 0)
    return [
      problem(
        "controller-scaled-down",
        "No Mountpoint Pods and no buckets are made: the controller has no replicas",
        "Deployment s3-csi-controller: replicas 0",
        `kubectl scale -n ${driver} deployment/s3-csi-controller --replicas=1`,
      ),
    ];
  if (found === undefined || (found.status?.readyReplicas ?? 0) > 0) return [];
  const evidence = podEvidence(installation, "s3-csi-controller") || "no replica is ready";
  return [
    problem(
      "controller-not-ready",
      "The controller does not run",
      evidence,
      `kubectl describe pods -n ${driver} -l app=s3-csi-controller`,
    ),
  ];
}

export function checkNodePlugins(installation: Installation): readonly Finding[] {
  const { daemonSet, driverPods, cluster } = installation;
  const { driver } = cluster.namespaces;
  if (daemonSet === "missing")
    return [
      problem(
        "node-plugin-missing",
        "No volume can be mounted: the node plugin is not installed",
        `there is no DaemonSet s3-csi-node in ${driver}`,
        reinstall,
      ),
    ];
  return driverPods
    .filter(({ metadata }) => metadata.labels?.["app"] === "s3-csi-node")
    .filter(({ status }) => !(status?.containerStatuses ?? []).some(({ ready }) => ready))
    .map((pod) =>
      problem(
        "node-plugin-not-ready",
        `No volume can be mounted on node ${pod.spec.nodeName ?? "(none yet)"}: its node plugin is not ready`,
        `${pod.metadata.name}: ${containerProblem(pod) ?? pod.status?.phase ?? "no status"}`,
        `kubectl describe pod -n ${driver} ${pod.metadata.name}`,
      ),
    );
}

export function checkVersions({ driverPods }: Installation): readonly Finding[] {
  const images = driverPods.flatMap(({ spec }) =>
    spec.containers.filter(({ name }) => name !== "csi-provisioner").map(({ image }) => image ?? ""),
  );
  const different = [...new Set(images)];
  if (different.length < 2) return [];
  return [
    warning(
      "versions-differ",
      "Parts of the driver have different versions",
      different.join(", "),
      "finish the upgrade: kubectl rollout status daemonset/s3-csi-node; the DaemonSet may have updateStrategy OnDelete",
    ),
  ];
}

export function checkRights({ rights }: Installation): readonly Finding[] {
  const accounts = [...new Set(rights.map(({ account }) => account))];
  return accounts.flatMap((account) => {
    const missing = rights.filter((each) => each.account === account && !each.allowed).map(({ right }) => right);
    if (missing.length === 0) return [];
    return [
      problem(
        "rights-missing",
        `${account} lacks rights`,
        `may not: ${missing.join("; ")}`,
        "helm upgrade restores ClusterRoles, Roles and their bindings (serviceAccount.create must be true)",
      ),
    ];
  });
}

/** A leader renews its lease every 2 s; the lease of 15 s is over after four missed renewals and more. */
const staleLeaseMs = 60_000;

export function checkLease(installation: Installation): readonly Finding[] {
  const { lease, deployment } = installation;
  if ((present(deployment)?.status?.readyReplicas ?? 0) === 0) return [];
  if (lease === "missing") {
    const summary = "No reconciler works: nobody has made the lease";
    return [problem("lease-missing", summary, "there is no Lease s3-pod-reconciler", reconcilerLog)];
  }
  const found = present(lease);
  return found === undefined ? [] : leaseFindings(installation, found);
}

const reconcilerLog = "kubectl logs deploy/s3-csi-controller -c s3-pod-reconciler";

function leaseFindings({ now, driverPods }: Installation, { spec }: Lease): readonly Finding[] {
  const { holderIdentity: holder = "", renewTime = "never" } = spec;
  const isRenewed = now.getTime() - Date.parse(renewTime) < staleLeaseMs;
  if (holder === "" || !isRenewed) {
    const evidence = `holder "${holder}", last renewal ${renewTime}`;
    return [problem("lease-stale", "No reconciler works: its lease is not renewed", evidence, reconcilerLog)];
  }
  if (driverPods.length === 0 || driverPods.some(({ metadata }) => holder.includes(metadata.name))) return [];
  const summary = "The lease of the reconciler is held by a program outside of this installation";
  return [warning("lease-foreign", summary, `holder "${holder}"`, "look for a second installation in this namespace")];
}

export function checkServerVersion({ serverVersion }: Installation): readonly Finding[] {
  const minor = Number(/^v1\.(\d+)/.exec(serverVersion)?.[1]);
  if (!(minor < 30)) return [];
  return [
    problem(
      "kubernetes-too-old",
      "The cluster is older than the driver supports",
      serverVersion,
      "upgrade to Kubernetes 1.30 or later",
    ),
  ];
}

function podEvidence({ driverPods }: Installation, app: string): string {
  const pods = driverPods.filter(({ metadata }) => metadata.labels?.["app"] === app);
  return pods.map((pod) => `${pod.metadata.name}: ${containerProblem(pod) ?? pod.status?.phase ?? ""}`).join("; ");
}

function problem(id: FindingId, summary: string, evidence: string, fix: string): Finding {
  return { id, severity: "problem", summary, evidence, fix };
}

function warning(id: FindingId, summary: string, evidence: string, fix: string): Finding {
  return { id, severity: "warning", summary, evidence, fix };
}
