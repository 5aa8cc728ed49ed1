import { expect, it } from "vitest";
import { findConnectionProblem, logEnvironment } from "./mount-s3-log.ts";

/** As mount-s3 1.24 prints it. */
const untrusted = [
  "2026-11-16T08:41:47.100952Z  INFO ThreadId(01) mount_s3::client: target network throughput 10 Gbps",
  "2026-11-16T08:41:47.372211Z  WARN ThreadId(06) awscrt::tls-handler: id=0x7f2bfc012e70: negotiation failed with error Certificate is untrusted (Error encountered in /src/s2n-tls/tls/s2n_x509_validator.c:894)",
  "2026-11-16T08:42:12.436478Z ERROR ThreadId(06) awscrt::http-connection: static: Client connection failed with error 1029 (AWS_IO_TLS_ERROR_NEGOTIATION_FAILURE).",
];
const refused =
  "2026-11-16T08:41:06.284Z ERROR ThreadId(06) awscrt::http-connection: static: Client connection failed with error 1047 (AWS_IO_SOCKET_CONNECTION_REFUSED).";

it("finds a certificate that is not trusted at the first attempt, and names the fix", () => {
  const problem = findConnectionProblem(untrusted.slice(0, 2).join("\n"));
  expect(problem?.message).toBe("negotiation failed with error Certificate is untrusted");
  expect(problem?.fix).toContain("tls.caCertConfigMap");
});

it("returns each message once, however many attempts failed", () => {
  const log = [...untrusted, ...untrusted, ...untrusted].join("\n");
  expect(findConnectionProblem(log)?.message).toBe(
    "negotiation failed with error Certificate is untrusted; " +
      "Client connection failed with error 1029 (AWS_IO_TLS_ERROR_NEGOTIATION_FAILURE).",
  );
});

it("finds an endpoint that does not answer, also in the log of mount-s3 before 1.20", () => {
  for (const line of [refused, refused.replace("ThreadId(06) ", "")]) {
    const problem = findConnectionProblem(`${line}\n`);
    expect(problem?.message).toContain("CONNECTION_REFUSED");
    expect(problem?.fix).toContain("s3.endpointUrl");
  }
});

it("limits the length, and ignores lines that are no connection problem", () => {
  expect(findConnectionProblem(refused.replace("Client", "x".repeat(10_000)))?.message.length).toBe(512);
  const others = ["", untrusted[0] ?? "", refused.replace("http-connection", "AuthSigning")];
  for (const log of others) expect(findConnectionProblem(log)).toBeUndefined();
});

it("enables connection messages unless the mount options choose what is logged", () => {
  expect(logEnvironment(["--allow-other"])["MOUNTPOINT_LOG"]).toContain("awscrt::tls-handler=warn");
  for (const option of ["--debug", "-d", "--debug-crt", "--log-metrics", "--no-log"]) {
    expect(logEnvironment(["--allow-other", option])).toEqual({});
  }
});
