import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { IdentityService } from "../../src/csi/gen/csi.ts";
import { identityService } from "../../src/csi/identity.ts";
import { serve } from "../../src/csi/server.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { csiClient } from "../support/csi-client.ts";

let dir: string;
let socket: string;
let server: AsyncDisposable;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "csi-"));
  socket = join(dir, "csi.sock");
  const identity = identityService({ version: "1", readiness: () => ({ ready: true }), servesController: false });
  const call = { signal: new AbortController().signal, log: silentLogger };
  server = await serve(call, `unix:${socket}`, [identity]);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(dir, { recursive: true });
});

it.for([
  { authority: "localhost", end: "answered" },
  { authority: "%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Fs3.csi.scality.com-reg.sock", end: "answered" },
  // nghttp2 inside Node refuses these calls before gRPC sees them. The Go clients of kubelet 1.36 and of the provisioner
  // sidecar escape a path (encodeAuthority of grpc-go, seen in 1.72 and 1.83) or send localhost.
  { authority: undefined, end: "refused" },
  { authority: "/var/lib/kubelet/plugins/s3.csi.scality.com/csi.sock", end: "refused" },
  { authority: "", end: "refused" },
] as const)(":authority $authority → $end, and the server goes on", async ({ authority, end }) => {
  expect(await probeWith(authority)).toBe(end);
  using client = csiClient(IdentityService, `unix:${socket}`);
  await expect(client.probe({})).resolves.toEqual({ ready: true });
});

/** A call written as HTTP/2 frames, because every client library puts some authority in by itself. */
async function probeWith(authority: string | undefined): Promise<"answered" | "refused"> {
  const headers: [string, string][] = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", IdentityService.probe.path],
    ...(authority === undefined ? [] : [[":authority", authority] satisfies [string, string]]),
    ["content-type", "application/grpc"],
    ["te", "trailers"],
  ];
  const block = Buffer.concat(headers.map(([name, value]) => literal(name, value)));
  const peer = connect(socket);
  peer.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  peer.write(frame({ type: settings, flags: 0, stream: 0 }, Buffer.alloc(0)));
  peer.write(frame({ type: headersFrame, flags: endHeaders, stream: 1 }, block));
  peer.write(frame({ type: data, flags: endStream, stream: 1 }, Buffer.alloc(5))); // an empty, uncompressed message
  let received = Buffer.alloc(0);
  for (;;) {
    const [chunk] = (await once(peer, "data")) as [Buffer];
    received = Buffer.concat([received, chunk]);
    const types = typesOnStream(received);
    if (!types.has(data) && !types.has(reset)) continue;
    peer.destroy();
    return types.has(data) ? "answered" : "refused";
  }
}

const [data, headersFrame, reset, settings] = [0, 1, 3, 4] as const;
const [endStream, endHeaders] = [1, 4] as const;

/** HPACK's plainest form: a literal that is not indexed, not Huffman-coded and shorter than 127 bytes. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);
}

function frame(head: { type: number; flags: number; stream: number }, payload: Buffer): Buffer {
  const bytes = Buffer.alloc(9);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes.writeUInt8(head.type, 3);
  bytes.writeUInt8(head.flags, 4);
  bytes.writeUInt32BE(head.stream, 5);
  return Buffer.concat([bytes, payload]);
}

/** The types of all whole frames received on stream 1. */
function typesOnStream(received: Buffer): Set<number> {
  const types = new Set<number>();
  for (let at = 0; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3)) {
    if (received.readUInt32BE(at + 5) === 1) types.add(received.readUInt8(at + 3));
  }
  return types;
}
