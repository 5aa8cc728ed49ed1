/** The lab's S3 server behind TLS, under a name that only a proxy knows, and a proxy that knows it. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, isIP, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { network } from "../../lab/layout.ts";
import { run } from "../../lab/run.ts";

export interface TlsEndpoint extends AsyncDisposable {
  readonly port: number;
  /** Certificate of the authority to trust, PEM. */
  readonly authority: string;
  /** Of clients that took the certificate. */
  readonly seen: { requests: number };
}

export async function tlsEndpoint(host: string): Promise<TlsEndpoint> {
  const { authority, ...pair } = await certificateFor(host);
  const seen = { requests: 0 };
  const server = createTlsServer(pair, (incoming, answer) => {
    seen.requests += 1;
    const { method, url: path, headers } = incoming;
    const forwarded = request({ host: "127.0.0.1", port: network.s3Port, method, path, headers, agent: false });
    forwarded.once("error", () => answer.destroy());
    forwarded.once("response", (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    incoming.pipe(forwarded);
  });
  const port = await listening(server);
  return { port, authority, seen, [Symbol.asyncDispose]: () => closed(server, () => server.closeAllConnections()) };
}

export interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  /** HOST:PORT of each tunnel that was asked for. */
  readonly tunnels: readonly string[];
}

/** Every tunnel ends at the port, whatever it was asked for. */
export async function connectProxy(port: number): Promise<ConnectProxy> {
  const tunnels: string[] = [];
  const open = new Set<{ destroy(): void }>();
  const server = createServer((_incoming, answer) => answer.writeHead(405).end());
  server.on("connect", ({ url = "" }, client) => {
    tunnels.push(url);
    const upstream = connect(port, network.hub, () => client.write("HTTP/1.1 200 Connection established\r\n\r\n"));
    for (const [from, to] of [[client, upstream] as const, [upstream, client] as const]) {
      open.add(from);
      from.once("close", () => (open.delete(from), to.destroy()));
      from.on("error", () => to.destroy());
      from.pipe(to);
    }
  });
  const url = `http://${network.hub}:${await listening(server)}`;
  const end = () => open.forEach((socket) => socket.destroy());
  return { url, tunnels, [Symbol.asyncDispose]: () => closed(server, end) };
}

async function listening(server: Server): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(0, network.hub, resolve);
  await promise;
  return (server.address() as AddressInfo).port;
}

async function closed(server: Server, end: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  end();
  await promise;
}

export async function certificateFor(host: string): Promise<{ key: string; cert: string; authority: string }> {
  const directory = mkdtempSync(join(tmpdir(), "tls-endpoint-"));
  try {
    const openssl = (...args: readonly string[]) =>
      run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", ...args], {
        signal: AbortSignal.timeout(60_000),
        cwd: directory,
      });
    await openssl("-subj", "/CN=test-ca", "-keyout", "ca.key", "-out", "ca.crt");
    const names = [
      "-addext",
      `subjectAltName=${isIP(host) ? "IP" : "DNS"}:${host}`,
      "-addext",
      "basicConstraints=critical,CA:FALSE",
    ];
    await openssl(
      "-CA",
      "ca.crt",
      "-CAkey",
      "ca.key",
      "-subj",
      `/CN=${host}`,
      ...names,
      "-keyout",
      "key",
      "-out",
      "crt",
    );
    const read = (file: string) => readFileSync(join(directory, file), "utf8");
    return { key: read("key"), cert: read("crt"), authority: read("ca.crt") };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
