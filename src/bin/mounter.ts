/** The program of a Mountpoint Pod: waits for a mount request, then becomes mount-s3. */
import { writeSync } from "node:fs";
import { constants, hostname } from "node:os";
import { comm } from "../core/names.ts";
import { Descriptor } from "../linux/descriptor.ts";
import { Directory } from "../linux/directory.ts";
import { adopt, type FdReceiver, listen } from "../linux/socket/fd-receiver.ts";
import { becomeMountS3 } from "../mounter/become-mount-s3.ts";
import { type MounterConfig, mounterConfigFrom } from "../mounter/config.ts";
import { untilExitFile } from "../mounter/exit-file.ts";
import { receive } from "../mounter/receive.ts";
import { type Call, deadline } from "../runtime/call.ts";
import { jsonLogger } from "../runtime/log.ts";

// The host name of a Pod is its name.
// process.stderr writes to pipes asynchronously, and execve(2) would drop what is still buffered.
const log = jsonLogger((line) => writeSync(2, line), 2, { mountpointPod: hostname() });
const stop = new AbortController();
/** The Pod has restartPolicy OnFailure: an exit code other than 0 makes kubelet start the container again. */
let failureCode = 1;
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    failureCode = 128 + constants.signals[signal];
    stop.abort(new DOMException(`received ${signal}`, "AbortError"));
  });
}

async function run(call: Call, config: MounterConfig): Promise<void> {
  using directory = Directory.open(config.commDir);
  try {
    using needed = untilExitFile(call, directory, config.commDir);
    using waiting = deadline(needed, config.receiveTimeoutMs, `a mount request on ${comm.socket}`);
    const received = await receive(waiting, () => listener(config, directory));
    if (!directory.has(comm.exit)) becomeMountS3(call, config, received);
  } catch (error) {
    if (!directory.has(comm.exit)) throw error;
  }
  log.info("ending: the node plugin asked for it");
}

/** The socket of the program in which a Mountpoint Pod has waited for a volume, or else a new one. */
function listener({ listeningDescriptor }: MounterConfig, directory: Directory): FdReceiver {
  if (listeningDescriptor === undefined) return listen(directory, comm.socket);
  return adopt(new Descriptor(listeningDescriptor), directory, comm.socket);
}

try {
  await run({ signal: stop.signal, log }, mounterConfigFrom(process.argv.slice(2), process.env));
} catch (error) {
  log.error("program failed", { program: "mounter", error });
  process.exitCode = failureCode;
}
