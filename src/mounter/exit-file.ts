import { type FSWatcher, watch } from "node:fs";
import { comm } from "../core/names.ts";
import type { Directory } from "../linux/directory.ts";
import type { Call } from "../runtime/call.ts";

const checkEveryMs = 1000;

/** A child call that is aborted when the node plugin writes `mount.exit`, or has written it before: no workload needs the Pod. */
export function untilExitFile(call: Call, directory: Directory, path: string): Call & Disposable {
  const asked = new AbortController();
  const check = () => {
    if (directory.has(comm.exit))
      asked.abort(new DOMException(`the node plugin has written ${comm.exit}`, "AbortError"));
  };
  const watching = watchOrPoll(call, path, check);
  check(); // after the watch has begun, so that no write is missed
  return {
    log: call.log,
    signal: AbortSignal.any([call.signal, asked.signal]),
    [Symbol.dispose]: () => watching[Symbol.dispose](),
  };
}

/** The kernel limits inotify instances per user, and all Mountpoint Pods of a node have the same user. Polls at the limit. */
function watchOrPoll(call: Call, path: string, check: () => void): Disposable {
  using undo = new DisposableStack();
  try {
    const watcher: FSWatcher = watch(path, check);
    undo.defer(() => watcher.close());
  } catch (error) {
    call.log.info("cannot watch the shared volume, looking every second", { error });
    const timer = setInterval(check, checkEveryMs);
    undo.defer(() => clearInterval(timer));
  }
  return undo.move();
}
