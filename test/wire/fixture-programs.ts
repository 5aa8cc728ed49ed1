import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Compiles a program of test/fixtures into a directory and answers its path. Static: it runs in any container. */
export function compileFixture(name: "exchange" | "mount-s3" | "peer" | "writer", directory: string): string {
  const program = `${directory}/${name}`;
  const source = fileURLToPath(new URL(`../fixtures/${name}.c`, import.meta.url));
  execFileSync("gcc", ["-O1", "-Wall", "-Wextra", "-Werror", "-static", "-pthread", "-o", program, source], {
    stdio: "inherit",
  });
  return program;
}
