import { expect, it } from "vitest";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { jsonLogger } from "../../runtime/log.ts";
import type { ObservedAttachment } from "../decision/decision.ts";
import { attachment, mp, w1 } from "../decision/situation.fixture.ts";
import { emptyView } from "../observe/view.ts";
import { StatusWriter } from "./status-writer.ts";

const [first, second] = [attachment({ [mp(w1)]: [w1] }), attachment({ [mp(w1)]: [w1] }, { name: "s3pa-other" })];
const status = { conditions: [] };

function written(object: ObservedAttachment, resourceVersion: string): ObservedAttachment {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

/** A server that answers this way; records the requests and the log lines. */
function against(answer: (object: ObservedAttachment) => ObservedAttachment) {
  const view = emptyView();
  for (const each of [first, second]) view.attachments.put(each.metadata.name, "1", each);
  view.attachments.complete();
  const asked: string[] = [];
  const lines: string[] = [];
  const applyStatus = async (_call: unknown, _kind: unknown, { name }: { name: string }) => {
    asked.push(name);
    const answered = answer(name === first.metadata.name ? first : second);
    view.attachments.put(name, answered.metadata.resourceVersion, answered);
    return answered;
  };
  const call = { signal: new AbortController().signal, log: jsonLogger((line) => lines.push(line), 4) };
  const writer = new StatusWriter({ applyStatus } as unknown as KubeClient, view);
  return {
    asked,
    lines,
    view,
    write: () =>
      writer.write(
        call,
        [first, second].map((each) => ({ attachment: each, status })),
      ),
  };
}

const names = [first, second].map(({ metadata }) => metadata.name);

it("writes each status, and resolves when the view shows it", async () => {
  const { asked, write, view } = against((object) => written(object, "2"));
  await write();
  expect(asked).toEqual(names);
  expect(view.attachments.get(names[0] ?? "")?.metadata.resourceVersion).toBe("2");
});

it("does not wait for the view where the server dropped the status", async () => {
  const { asked, write } = against((object) => object);
  await write();
  expect(asked).toEqual(names);
});

it("writes no status of an attachment that has changed since", async () => {
  const { asked, write, view } = against((object) => written(object, "3"));
  view.attachments.put(names[0] ?? "", "2", written(first, "2"));
  await write();
  expect(asked).toEqual(names.slice(1));
});

it("stops writing for a while without the permission, and logs that once", async () => {
  const { asked, lines, write } = against(({ metadata }) => {
    throw new ApiError(403, "Forbidden", `${metadata.name} is forbidden`);
  });
  await write();
  await write();
  expect(asked).toEqual(names.slice(0, 1));
  expect(lines.filter((line) => line.includes("cannot be written"))).toHaveLength(1);
});

it.for(["Conflict", "NotFound"])("skips an attachment that was replaced or is gone (%s)", async (reason) => {
  const { asked, write } = against(() => {
    throw new ApiError(409, reason, "");
  });
  await write();
  expect(asked).toEqual(names);
});

it("fails with an error that a retry may overcome", async () => {
  const { write } = against(() => {
    throw new ApiError(500, "InternalError", "try again");
  });
  await expect(write()).rejects.toThrow("try again");
});
