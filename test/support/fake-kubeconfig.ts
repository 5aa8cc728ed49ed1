/** For a client of a FakeApiServer. */
export function kubeconfigFor(port: number): object {
  // The client library takes an address without TLS only with this setting.
  const cluster = { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true };
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "fake",
    clusters: [{ name: "fake", cluster }],
    users: [{ name: "fake", user: {} }],
    contexts: [{ name: "fake", context: { cluster: "fake", user: "fake" } }],
  };
}
