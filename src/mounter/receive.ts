import { DriverError } from "../core/errors.ts";
import { decodeMountRequest, type MountRequest, mountRequestLimitBytes } from "../core/volume/mount-request.ts";
import type { Descriptor } from "../linux/descriptor.ts";
import { type FdReceiver, readToEnd } from "../linux/socket/fd-receiver.ts";
import type { Call } from "../runtime/call.ts";

export interface Received {
  readonly request: MountRequest;
  /** The FUSE device, which the node plugin has mounted already. */
  readonly device: Descriptor;
  /** Stays open for the life of mount-s3: the node plugin sees its end when mount-s3 dies. */
  readonly connection: Descriptor;
}

/** Waits for one mount request on the socket. A failure leaves no descriptor behind. */
export async function receive(call: Call, listening: () => FdReceiver): Promise<Received> {
  call.signal.throwIfAborted(); // the node plugin connects as soon as the socket appears
  using listener = listening();
  for (;;) {
    using undo = new DisposableStack();
    const connection = undo.use(await listener.accept(call));
    const { bytes, descriptors } = await readToEnd(call, connection, mountRequestLimitBytes);
    for (const descriptor of descriptors) undo.use(descriptor);
    if (bytes.length === 0 && descriptors.length === 0) {
      // The node plugin connects, mounts, then sends. If it fails in between, it closes the connection and connects again later.
      call.log.info("connection closed without a mount request");
      continue;
    }
    const [device, ...more] = descriptors;
    if (device === undefined || more.length > 0) {
      throw new DriverError("invalid", `the mount request came with ${descriptors.length} descriptors instead of one`);
    }
    const request = decodeMountRequest(bytes);
    undo.move();
    return { request, device, connection };
  }
}
