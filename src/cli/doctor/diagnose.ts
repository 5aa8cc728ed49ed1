/** All checks of `kubectl s3 doctor`, in the order in which their findings are shown: causes before their consequences. */
import { checkCaBundle, checkCaOfStores } from "./checks/certificates.ts";
import {
  checkAttachmentObjects,
  checkDuplicates,
  checkMountpointPods,
  checkOrphanedPods,
  checkStaleAttachments,
  checkWaitingPods,
  checkWaitingWorkloads,
} from "./checks/mounts.ts";
import { checkClocks, checkCoverage, checkNodesReady, checkRegistration, checkStartupTaints } from "./checks/nodes.ts";
import {
  checkController,
  checkCsiDriver,
  checkDefinition,
  checkLease,
  checkMountpointNamespace,
  checkNodePlugins,
  checkPriorityClasses,
  checkQuotas,
  checkRights,
  checkServerVersion,
  checkVersions,
} from "./checks/parts.ts";
import { checkSecrets } from "./checks/secrets.ts";
import { checkStores, checkStoresOfClasses, checkStoresOfVolumes, checkTokenRequests } from "./checks/stores.ts";
import {
  checkClasses,
  checkPendingClaims,
  checkReleasedVolumes,
  checkVolumeAttributes,
  checkVolumeHandles,
} from "./checks/volumes.ts";
import type { Check, Finding } from "./finding.ts";
import type { Installation } from "./installation.ts";

const checks: readonly Check[] = [
  checkServerVersion,
  checkDefinition,
  checkCsiDriver,
  checkTokenRequests,
  checkMountpointNamespace,
  checkPriorityClasses,
  checkRights,
  checkController,
  checkLease,
  checkNodePlugins,
  checkVersions,
  checkCoverage,
  checkRegistration,
  checkStartupTaints,
  checkNodesReady,
  checkClocks,
  checkSecrets,
  checkCaBundle,
  checkCaOfStores,
  checkStores,
  checkQuotas,
  checkClasses,
  checkStoresOfClasses,
  checkPendingClaims,
  checkVolumeAttributes,
  checkStoresOfVolumes,
  checkVolumeHandles,
  checkReleasedVolumes,
  checkWaitingWorkloads,
  checkMountpointPods,
  checkOrphanedPods,
  checkWaitingPods,
  checkAttachmentObjects,
  checkDuplicates,
  checkStaleAttachments,
];

export function diagnose(installation: Installation): readonly Finding[] {
  return checks.flatMap((check) => check(installation));
}
