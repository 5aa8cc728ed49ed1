/** The two documents of an issuer of tokens that no cluster is: its keys verify no token. */
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface IssuerDocuments extends AsyncDisposable {
  /** Of the first document. */
  readonly url: string;
}

export async function documentsOfStranger(): Promise<IssuerDocuments> {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = { ...publicKey.export({ format: "jwk" }), kid: "stranger", use: "sig", alg: "ES256" };
  const server = createServer((incoming, answer) => {
    const { host } = incoming.headers;
    const discovery = { issuer: `http://${host}`, jwks_uri: `http://${host}/keys` };
    answer.setHeader("content-type", "application/json");
    answer.end(JSON.stringify(incoming.url === "/keys" ? { keys: [key] } : discovery));
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(0, "127.0.0.1", resolve);
  await promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/.well-known/openid-configuration`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}
