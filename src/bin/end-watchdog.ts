/** Started by a node plugin that exits: `end-watchdog ENDING`. Its standard input reaches end-of-file when the plugin has exited. */
import { abortConnection as abortFuse, connectionsWithRequests } from "../linux/fuse/fusectl.ts";
import { readMounts as mounts } from "../linux/mounts/mountinfo.ts";
import { cpuTimeNs } from "../linux/process/processes.ts";
import { type Ending, watchEnd } from "../node/end/end-watchdog.ts";
import { stderrLogger } from "../runtime/program.ts";

const ending = JSON.parse(process.argv[2] ?? "") as Ending;
const pluginEnded = new AbortController();
process.stdin.on("end", () => pluginEnded.abort()).resume();
await watchEnd(
  { signal: pluginEnded.signal, log: stderrLogger(2) },
  { mounts, connectionsWithRequests, cpuTimeNs: (of) => cpuTimeNs(ending.hostProc, of), abortFuse },
  ending,
);
