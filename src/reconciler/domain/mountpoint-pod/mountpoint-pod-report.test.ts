import { describe, expect, it } from "vitest";
import { schedulingProblem } from "../scheduling-problem.ts";
import { type ReportedPod, reportFrom } from "./mountpoint-pod-report.ts";

function pod(status: NonNullable<ReportedPod["status"]>, nodeName?: string, metadata: object = {}): ReportedPod {
  const name = { name: "mp-1", namespace: "mount-s3", uid: "u", resourceVersion: "1", creationTimestamp: "" };
  return { metadata: { ...name, ...metadata }, spec: { ...(nodeName !== undefined && { nodeName }) }, status };
}

const container = (state: object, lastState: object = {}, restartCount = 3) => ({
  phase: "Running",
  containerStatuses: [{ name: "mountpoint", restartCount, state, lastState }],
});
const ended = (finishedAt = "") => ({
  exitCode: 1,
  reason: "Error",
  startedAt: "2026-01-15T10:00:00Z",
  finishedAt,
});
const verdict = (status: string, reason: string, message = "") => ({
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status, reason, message }],
});

const waiting = (reason: string, message: string) => reportFrom(pod(container({ waiting: { reason, message } }), "n"));

const lookup = (port: number) => `lookup r on 10.0.0.53:53: read udp 10.0.0.1:${port}->10.0.0.53:53: i/o timeout`;

describe("a Mountpoint Pod", () => {
  it("that runs has no problem", () => {
    expect(reportFrom(pod(container({}), "n"))).toEqual({
      scheduled: true,
      restarts: 3,
      deletionAskedAt: undefined,
      problem: undefined,
    });
  });

  it.for<[string, ReportedPod, object]>([
    [
      "is unschedulable",
      pod(verdict("False", "Unschedulable", "0/1 nodes are available: 1 Too many pods.")),
      {
        kind: "unschedulable",
        cause: "has no place on the node: Too many pods",
      },
    ],
    [
      "was evicted",
      pod({ phase: "Failed", reason: "Evicted", message: "low" }, "n"),
      {
        kind: "ended",
        cause: "has ended (Evicted: low)",
      },
    ],
    [
      "is Succeeded",
      pod({ ...container({ terminated: { exitCode: 0, reason: "Completed" } }), phase: "Succeeded" }, "n"),
      {
        kind: "ended",
        cause: "has ended (Completed, exit code 0)",
      },
    ],
    [
      "exited with code 0 a moment ago, and kubelet has not reported the phase yet",
      pod(container({ terminated: { exitCode: 0, reason: "Completed" } }), "n"),
      { kind: "ended" },
    ],
    ["is down for the first time", pod(container({ terminated: ended() }, {}, 0), "n"), { kind: "crashing" }],
    ["is down again", pod(container({ terminated: ended() }, {}, 1), "n"), { kind: "backingOff" }],
    [
      "is down again, soon after it was started again",
      pod(container({ terminated: ended("2026-01-15T10:09:59Z") }, {}, 1), "n"),
      { kind: "backingOff" },
    ],
    [
      "is down again, after a time so long that kubelet has forgotten the first",
      pod(container({ terminated: ended("2026-01-15T10:10:00Z") }, {}, 1), "n"),
      { kind: "crashing" },
    ],
    [
      "is being started again",
      pod(container({ waiting: { reason: "ContainerCreating" } }, { terminated: { exitCode: 1 } }), "n"),
      { kind: "crashing" },
    ],
    [
      "was killed for its memory, and waits for its next start",
      pod(
        container({ waiting: { reason: "CrashLoopBackOff" } }, { terminated: { exitCode: 137, reason: "OOMKilled" } }),
        "n",
      ),
      {
        kind: "backingOff",
        fix: expect.stringContaining("mountpointContainerResourcesLimitsMemory"),
      },
    ],
    [
      "cannot be configured",
      pod(
        { ...container({ waiting: { reason: "CreateContainerConfigError", message: "no" } }), phase: "Pending" },
        "n",
      ),
      {
        kind: "notStarting",
        cause: "does not start: CreateContainerConfigError: no",
      },
    ],
    [
      "has ended, and its image cannot be pulled any more",
      pod(container({ waiting: { reason: "ErrImagePull", message: "denied" } }, { terminated: ended() }), "n"),
      { kind: "notRestarting", cause: "does not start: its image cannot be pulled: denied" },
    ],
    [
      "has ended, and the init container that runs before it does not start any more",
      pod(
        {
          phase: "Pending",
          initContainerStatuses: [{ name: "ca", restartCount: 1, state: { waiting: { reason: "ErrImagePull" } } }],
          containerStatuses: [
            {
              name: "mountpoint",
              restartCount: 0,
              state: { waiting: { reason: "PodInitializing" } },
              lastState: { terminated: ended() },
            },
          ],
        },
        "n",
      ),
      { kind: "notRestarting", cause: "does not start: its image cannot be pulled" },
    ],
    [
      "has ended beside another container that does not start",
      pod(
        {
          phase: "Pending",
          containerStatuses: [
            { name: "injected", restartCount: 0, state: { waiting: { reason: "ErrImagePull", message: "denied" } } },
            { name: "mountpoint", restartCount: 3, state: { terminated: ended() } },
          ],
        },
        "n",
      ),
      { kind: "backingOff", cause: "is down until it is started again (Error, exit code 1)" },
    ],
    ["is being deleted", pod(container({}), "n", { deletionTimestamp: "2026-01-15T10:10:00Z" }), { kind: "leaving" }],
  ])("that %s has a problem", ([, object, problem]) => {
    expect(reportFrom(object).problem).toMatchObject(problem);
  });

  it.for([
    ["is new", pod({ phase: "Pending" })],
    ["was unschedulable and is scheduled now", pod(verdict("True", ""), "n")],
    ["is being started", pod({ ...container({ waiting: { reason: "ContainerCreating" } }), phase: "Pending" }, "n")],
  ] as const)("that %s is not", ([, object]) => {
    expect(reportFrom(object).problem).toBeUndefined();
  });

  it("reports an image in the same way for both of kubelet's reasons", () => {
    expect(waiting("ImagePullBackOff", 'Back-off pulling image "a:b": ErrImagePull: not found')).toEqual(
      waiting("ErrImagePull", "not found"),
    );
  });

  it("reports an image in the same way after each attempt, whatever its local port was", () => {
    expect(waiting("ErrImagePull", lookup(34143))).toEqual(waiting("ErrImagePull", lookup(46108)));
    expect(waiting("ErrImagePull", lookup(1)).problem?.cause).toContain("read udp 10.0.0.53:53: i/o timeout");
  });

  it("has a deletion request one grace period before its deletion timestamp", () => {
    const metadata = { deletionTimestamp: "2026-01-15T10:10:00Z", deletionGracePeriodSeconds: 600 };
    expect(reportFrom(pod({}, "n", metadata)).deletionAskedAt).toEqual(new Date("2026-01-15T10:00:00Z"));
  });
});

it.for([
  [
    "0/9 nodes are available: 1 Too many pods, 8 node(s) didn't match Pod's node affinity/selector. preemption: 0/9 nodes are available: 9 No preemption victims found.",
    "Too many pods",
    /maxPods/,
  ],
  [
    "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity].",
    "Insufficient cpu",
    /mountpointPod\.resources/,
  ],
  [
    "0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.",
    "had untolerated taint {a: b}",
    /mountpointPod\.tolerations/,
  ],
  [
    "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
    "pod has unbound immediate PersistentVolumeClaims",
    /cacheEphemeral/,
  ],
  [
    "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeAffinity].",
    "there is no such node",
    /Delete the workload/,
  ],
  ["something else", "something else", /Make room/],
] as const)("the scheduler's %s means %s", ([verdictText, cause, fix]) => {
  const problem = schedulingProblem(verdictText);
  expect(problem.cause).toBe(cause);
  expect(problem.fix).toMatch(fix);
});
