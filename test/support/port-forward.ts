/** A port of a Service on 127.0.0.1, as a user gets it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Cluster } from "./cluster.ts";

export interface ForwardedPort extends AsyncDisposable {
  readonly address: string;
}

/** Ends with the scope. Rejects with what kubectl says if it ends before. */
export async function portForward({ lab }: Cluster, namespace: string, target: string): Promise<ForwardedPort> {
  const [service = "", port = ""] = target.split(":");
  const args = [`--kubeconfig=${lab.layout.kubeconfig}`, "port-forward", "-n", namespace, service, `:${port}`];
  const child = spawn(join(lab.programs.kubernetes, "kubectl"), args, { stdio: ["ignore", "pipe", "pipe"] });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      const [, local] = /Forwarding from (127\.0\.0\.1:\d+)/.exec(said) ?? [];
      if (local !== undefined) resolve(`http://${local}`);
    });
  }
  child.once("exit", () => reject(new Error(`kubectl port-forward has ended: ${said}`)));
  child.once("error", reject);
  const address = await promise;
  return {
    address,
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, "exit");
      if (child.kill()) await ended;
    },
  };
}
