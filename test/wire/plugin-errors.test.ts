import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

const program = join(import.meta.dirname, "../../src/bin/kubectl-s3.ts");

it("OP-4 no control character of an error message reaches the terminal", () => {
  const args = ["--disable-warning=ExperimentalWarning", program, "--kubeconfig", "/none\u001b[31mred", "list"];
  const { stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(stderr).toContain("/none [31mred");
  expect(stderr).not.toContain("\u001b");
  expect(status).toBe(1);
});
