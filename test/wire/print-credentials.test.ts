import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path/posix";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { processProfile } from "../../src/node/credentials/profile.ts";
import { Secret } from "../../src/runtime/secret.ts";

const run = promisify(execFile);
const script = join(import.meta.dirname, "../../scripts/print-credentials.sh");

let directory: string;
let file: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "print-credentials-"));
  file = join(directory, "keys");
});

afterAll(() => rmSync(directory, { recursive: true }));

/** As mount-s3 runs it: through a shell, with hardly any environment. */
async function print(): Promise<Record<string, unknown>> {
  const { stdout } = await run("/bin/sh", ["-c", `${script} ${file}`], { env: {} });
  return JSON.parse(stdout) as Record<string, unknown>;
}

it("prints the output of a credential_process, which expires in five and a half minutes", async () => {
  const secret = `%s %d \\n \\\\ "quoted" $(date) \`date\` $HOME é`;
  const keys = {
    accessKeyId: new Secret("AKIA"),
    secretAccessKey: new Secret(secret),
    sessionToken: new Secret("token="),
  };
  writeFileSync(file, processProfile(keys).files["s3-csi-keys"] ?? "");
  const before = Date.now();
  const { Expiration, ...rest } = await print();
  expect(rest).toEqual({ Version: 1, AccessKeyId: "AKIA", SecretAccessKey: secret, SessionToken: "token=" });
  const expiresAt = Date.parse(String(Expiration));
  expect(expiresAt).toBeGreaterThan(before + 329_000); // the script knows whole seconds only
  expect(expiresAt).toBeLessThanOrEqual(Date.now() + 330_000);
});

it("prints nothing and fails when there are no keys, so that mount-s3 does not cache an empty answer", async () => {
  rmSync(file, { force: true });
  await expect(run("/bin/sh", [script, file])).rejects.toMatchObject({ stdout: "" });
});
