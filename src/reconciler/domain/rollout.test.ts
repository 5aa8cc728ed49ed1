import { describe, expect, it } from "vitest";
import { type MountpointPod, type MoveNotes, noMove } from "../../core/mountpoint-pod-state.ts";
import { mp, ofSecret, pod, volume, w1 } from "../decision/situation.fixture.ts";
import { settingsOf } from "./mountpoint-pod/settings-hash.ts";
import type { S3Volume } from "./persistent-volume.ts";
import {
  type CurrentSettings,
  hasObsoleteRequest,
  type RolloutState,
  rolloutRequest,
  rolloutStateOf,
} from "./rollout.ts";

const current: CurrentSettings = { hash: "now", retry: "" };
const usual = { volume, mountOptions: "", served: 1, source: { health: "serving" } } as const;
const asked = (move: Partial<MoveNotes>) => ({ move: { ...noMove, ...move } });
const former = { settings: "before" };
const refused = { ...volume, live: { annotations: {}, refusals: ["x"] } };
const of2x = { settings: undefined, identity: undefined };

type Row = readonly [what: string, but: Partial<MountpointPod>, serves: object, state: RolloutState | undefined];

describe("LC-21 a Mountpoint Pod", () => {
  it.for<Row>([
    ["with the settings of now", {}, {}, "current"],
    ["with former settings", former, {}, "outdated"],
    ["of an earlier driver", { settings: undefined }, {}, "outdated"],
    ["of 2.x", of2x, {}, "outdated"],
    ["that the rollout has asked to leave", { ...former, ...asked({ requested: "rollout-now" }) }, {}, "moving"],
    ["that an operator has asked to leave", { ...former, ...asked({ requested: "mine" }) }, {}, "moving"],
    ["whose volume asks for a move", former, { volume: { ...volume, moveRequest: "mine" } }, "moving"],
    ["with the settings of now that an operator has asked to leave", asked({ requested: "mine" }), {}, "moving"],
    [
      "for which the rollout has failed",
      { ...former, ...asked({ requested: "rollout-now", failed: ["rollout-now"] }) },
      {},
      "failed",
    ],
    [
      "for which another rollout has failed",
      { ...former, ...asked({ requested: "rollout-other", failed: ["rollout-other"] }) },
      {},
      "outdated",
    ],
    [
      "for which the rollout has failed before an operator asks",
      { ...former, ...asked({ requested: "mine", failed: ["rollout-now"] }) },
      {},
      "moving",
    ],
    ["with a request of another rollout", { ...former, ...asked({ requested: "rollout-other" }) }, {}, "outdated"],
    ["with the settings of now and a request of another rollout", asked({ requested: "rollout-other" }), {}, "current"],
    ["whose volume was removed or is refused", former, { volume: undefined }, "skipped"],
    ["whose volume has got another Secret", former, { volume: { ...volume, credentials: ofSecret } }, "skipped"],
    ["whose volume has a live option that is refused", former, { volume: refused }, "skipped"],
    [
      "whose volume has a live option that is refused, and was found so by a move",
      { ...former, ...asked({ failed: ["rollout-now"] }) },
      { volume: refused },
      "skipped",
    ],
    ["of 2.x whose mount options were edited", of2x, { mountOptions: "debug" }, "skipped"],
    ["without workloads", former, { served: 0 }, undefined],
    [
      "whose workloads have just left it",
      { ...former, ...asked({ requested: "rollout-now" }) },
      { served: 0 },
      "moving",
    ],
    [
      "whose mounts are being replaced",
      { ...former, needsUnmount: true, ...asked({ to: mp(w1, 1) }) },
      { served: 0, source: { health: "serving", inUse: true } },
      "moving",
    ],
    [
      "whose mounts have been replaced",
      { ...former, needsUnmount: true, ...asked({ to: mp(w1, 1) }) },
      { served: 0, source: { health: "serving", inUse: false } },
      undefined,
    ],
    ["that is being deleted", { ...former, terminating: true }, {}, undefined],
    ["that has ended", { ...former, phase: "succeeded" }, {}, undefined],
  ])("%s", ([, but, serves, state]) => {
    expect(rolloutStateOf(pod(mp(w1), but), { ...usual, ...serves }, current)).toBe(state);
  });
});

it.for<[string, Partial<MountpointPod>, CurrentSettings, boolean]>([
  ["no request", former, current, false],
  ["an operator's request", { ...former, ...asked({ requested: "mine" }) }, current, false],
  ["the request of this rollout", { ...former, ...asked({ requested: "rollout-now" }) }, current, false],
  ["the request of another rollout", { ...former, ...asked({ requested: "rollout-other" }) }, current, true],
  [
    "the request before the retry",
    { ...former, ...asked({ requested: "rollout-now" }) },
    { hash: "now", retry: "2" },
    true,
  ],
  ["a request that has become needless", asked({ requested: "rollout-other" }), current, true],
  [
    "a request that has failed already",
    { ...former, ...asked({ requested: "rollout-other", failed: ["rollout-other"] }) },
    current,
    false,
  ],
])("LC-21 %s is to be withdrawn: %j", ([, but, settings, isObsolete]) => {
  expect(hasObsoleteRequest(pod(mp(w1), but), volume, settings)).toBe(isObsolete);
});

it("tries again what has failed after the operator has changed `retry`", () => {
  const failed = pod(mp(w1), { ...former, ...asked({ requested: "rollout-now", failed: ["rollout-now"] }) });
  const again = { hash: "now", retry: "2" };
  expect(rolloutRequest(volume, again)).toBe("rollout-now-2");
  expect(rolloutStateOf(failed, usual, again)).toBe("outdated");
});

describe("LC-21 live options of the volume", () => {
  const changed = { ...volume, live: { annotations: { "live/metadata-ttl": "5" }, refusals: [] } };
  const settings = settingsOf(current.hash, changed);
  it.for<[string, string, S3Volume, RolloutState]>([
    ["that are new", current.hash, changed, "outdated"],
    ["that it was created with", settings, changed, "current"],
    ["that were taken away", settings, volume, "outdated"],
    ["that were refused, all of them", current.hash, { ...volume, live: { annotations: {}, refusals: [] } }, "current"],
  ])("%s", ([, its, of, state]) => {
    expect(rolloutStateOf(pod(mp(w1), { settings: its }), { ...usual, volume: of }, current)).toBe(state);
  });
});
