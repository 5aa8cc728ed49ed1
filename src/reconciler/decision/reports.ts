/** Policies that report to the owners of workloads. */
import { mayHaveStarted, type Workload } from "../domain/workload.ts";
import { handleWarning, holderWarning, liveWarnings } from "../domain/workload-warnings.ts";
import { listingWorkload } from "./attachment-changes.ts";
import type { Refusal } from "./decision.ts";
import { type Draft, holderFor, type Report, reportOf, type Verdict, volumeReportOf } from "./draft.ts";

/**
 * LC-11. A volume that the driver refuses is reported on its workloads, and does not affect their other volumes. LC-9: a workload that may
 * have a mount of v1 is left alone.
 */
export function reportRefusedVolume(draft: Draft, workload: Workload, { name, refused }: Refusal): Verdict {
  const listed = listingWorkload(draft.attachments, workload.uid) !== undefined;
  if (!listed && mayHaveStarted(workload)) return {};
  return { report: volumeReportOf(workload, { reason: "VolumeRefused", message: refused }, name) };
}

/**
 * LC-20. The owner of a workload learns why its Mountpoint Pod does not serve, of a volume handle that is not unique, and of live options
 * that are ignored.
 */
export function warnOwners(draft: Draft): Draft {
  const { volume, sameHandle } = draft.observed;
  if (volume === undefined || "refused" in volume) return draft;
  const ofLive = liveWarnings(volume);
  const reports = draft.workloads.flatMap((workload): readonly Report[] => {
    const ofHandle = mayHaveStarted(workload) ? undefined : handleWarning(volume.name, sameHandle);
    const holder = holderFor(draft, workload);
    const ofHolder = holder && holderWarning(volume.name, holder);
    return [
      ...(ofHandle ? [volumeReportOf(workload, ofHandle, volume.name)] : []),
      ...(ofHolder ? [reportOf(workload, ofHolder)] : []),
      ...ofLive.map((warning) => volumeReportOf(workload, warning, volume.name)),
    ];
  });
  return { ...draft, reports: [...draft.reports, ...reports] };
}
