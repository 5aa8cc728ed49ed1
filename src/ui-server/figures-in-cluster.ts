import { isIPv6 } from "node:net";
import type { KubeClient } from "../kube/client/client.ts";
import type { FigureSource } from "../page/follow-rates.ts";
import type { Logger } from "../runtime/log.ts";
import { paths } from "../topology/paths.ts";

interface Plugin {
  readonly status?: { readonly podIP?: string };
}

/** 500 volumes are 3.3 MB. */
const limitBytes = 16 * 1024 * 1024;

/**
 * From the node plugins themselves, without a token: for installations whose metrics are open. Only Pods in the namespace of the driver are
 * asked, because anybody can give a Pod of their own the label.
 */
export function figuresInCluster(
  client: Pick<KubeClient, "text">,
  log: Logger,
  { driverNamespace, port }: { readonly driverNamespace: string; readonly port: number },
): FigureSource<Plugin> {
  return {
    plugins: async (signal) => {
      const path = `${paths.pods(driverNamespace)}?labelSelector=${encodeURIComponent("app=s3-csi-node")}`;
      return (JSON.parse(await client.text({ signal, log }, path)) as { readonly items: readonly Plugin[] }).items;
    },
    metrics: async (signal, { status: { podIP = "" } = {} }) => {
      const host = isIPv6(podIP) ? `[${podIP}]` : podIP;
      const answer = await fetch(`http://${host}:${port}/metrics`, { signal, redirect: "error" });
      if (!answer.ok) throw new Error(`the metrics of ${podIP} cannot be read: ${answer.status}`);
      return await textOf(answer);
    },
  };
}

async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of body ?? []) {
    text += decoder.decode(part as Uint8Array, { stream: true });
    if (text.length > limitBytes) throw new Error("the metrics are too long");
  }
  return text;
}
