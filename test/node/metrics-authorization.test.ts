/** Who may scrape an installed driver, as the API server decides. */
import { expect, it } from "vitest";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef } from "../support/cluster.ts";
import { reconcilerPod } from "../support/installed-reconciler.ts";
import { installedWith } from "../support/installed-with.ts";
import { pluginPod } from "../support/node-plugin.ts";

const cluster = openCluster();
const long = { timeout: 120_000, interval: 500 };
const binding = "metrics-authorization-test";

it("SE-7 a scrape needs a token whose user may get /metrics, and costs the API server little", async () => {
  await using _installed = await installedWith(cluster, ["metrics.authorization=true"]);
  await using sandbox = await cluster.sandbox();
  const account = async (name: string) => {
    await cluster.kubectl("create", "serviceaccount", name, "-n", sandbox.name);
    return (await cluster.kubectl("create", "token", name, "-n", sandbox.name)).trim();
  };
  const [scraper, stranger] = [await account("scraper"), await account("stranger")];
  const role = ["--clusterrole=s3-csi-metrics-reader", `--serviceaccount=${sandbox.name}:scraper`];
  await cluster.kubectl("create", "clusterrolebinding", binding, ...role);
  await using _binding = {
    [Symbol.asyncDispose]: async () => void (await cluster.kubectl("delete", "clusterrolebinding", binding)),
  };

  const [plugin, controller] = [
    await addressOf(await pluginPod(cluster, "worker-1")),
    await addressOf(await reconcilerPod(cluster)),
  ];
  for (const port of [`${plugin}:9808`, `${controller}:9809`, `${controller}:9810`]) {
    const codes = async () => [
      await codeOf(port),
      await codeOf(port, "not-a-token"),
      await codeOf(port, stranger),
      await codeOf(port, scraper),
    ];
    // The first scrape may come before the API server knows the binding.
    await expect.poll(codes, long).toEqual([401, 401, 403, 200]);
    for (const path of ["/healthz", "/livez"]) expect((await fetch(`http://${port}${path}`)).status).toBe(200);

    const before = await reviewsOf(port, scraper);
    for (let count = 0; count < 50; count += 1) expect(await codeOf(port, scraper)).toBe(200);
    for (let count = 0; count < 50; count += 1) await codeOf(port, `wrong-${count}`);
    // Two for the scraper, if its answer became too old meanwhile, and one for each of a few wrong tokens.
    expect((await reviewsOf(port, scraper)) - before).toBeLessThanOrEqual(12);
  }
  // csi-provisioner, which cannot ask.
  expect(await codeOf(`${controller}:9811`)).toBe(404);
});

async function addressOf({ namespace, name }: PodRef): Promise<string> {
  await cluster.untilReady({ namespace, name });
  const pod = await cluster.get<Pod & { status?: { podIP?: string } }>("pod", name, "-n", namespace);
  return pod?.status?.podIP ?? "";
}

async function scrape(port: string, token?: string): Promise<Response> {
  return await fetch(
    `http://${port}/metrics`,
    token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
  );
}

async function codeOf(port: string, token?: string): Promise<number> {
  const answer = await scrape(port, token);
  await answer.text();
  return answer.status;
}

/** Requests that the program has sent to the API server because of scrapes. */
async function reviewsOf(port: string, token: string): Promise<number> {
  const text = await (await scrape(port, token)).text();
  const counts = text.matchAll(
    /^s3_csi_api_requests_total\{.*resource="(?:tokenreviews|subjectaccessreviews)".*\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
