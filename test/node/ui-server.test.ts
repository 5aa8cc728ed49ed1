/** The page that a real cluster serves: the API server decides who sees it, and until when. */
import { expect, it } from "vitest";
import type { Pod } from "../../src/kube/kinds.ts";
import { openBrowser, openPage } from "../support/browser.ts";
import { openCluster } from "../support/cluster.ts";
import { installedWith } from "../support/installed-with.ts";
import { portForward } from "../support/port-forward.ts";
import { requestsOf } from "../support/rights.ts";

const cluster = openCluster();
const node = "worker-1";
const namespace = "kube-system";
const binding = "ui-server-test";
const scraping = "ui-server-test-metrics";
const authorized = ["metrics.authorization=true"];
const long = { timeout: 120_000, interval: 200 };

it("the page in the cluster is for those who may list all that it shows, as long as they may, and is gone when it is off", async () => {
  expect(await objectsOfThePage()).toEqual([]);
  await using sandbox = await cluster.sandbox();
  {
    await using _installed = await installedWith(cluster, ["ui.enabled=true", "ui.clusterName=the lab", ...authorized]);
    const volume = await sandbox.volume();
    const pod = await sandbox.pod("app", { node, claim: volume });
    const account = async (name: string) => {
      await cluster.kubectl("create", "serviceaccount", name, "-n", sandbox.name);
      return (await cluster.kubectl("create", "token", name, "-n", sandbox.name)).trim();
    };
    const to = (name: string) => [`--serviceaccount=${sandbox.name}:${name}`];
    const [viewer, stranger] = [await account("viewer"), await account("stranger")];
    const scraper = await account("scraper");
    await cluster.kubectl("create", "clusterrolebinding", binding, "--clusterrole=s3-csi-ui-viewer", ...to("viewer"));
    await using bound = new AsyncDisposableStack();
    bound.defer(
      async () => void (await cluster.kubectl("delete", "clusterrolebinding", binding, "--ignore-not-found")),
    );
    await cluster.kubectl("rollout", "status", "-n", namespace, "deployment/s3-csi-ui", "--timeout=180s");
    await using forwarded = await portForward(cluster, namespace, "service/s3-csi-ui:http");
    const feed = async (token?: string) =>
      await fetch(`${forwarded.address}/feed`, token ? { headers: { authorization: `Bearer ${token}` } } : {});
    expect([(await feed()).status, (await feed("not-a-token")).status]).toEqual([401, 401]);

    await using browser = { opened: await openBrowser(), [Symbol.asyncDispose]: () => browser.opened.close() };
    const { page, faults } = await openPage(browser.opened, forwarded.address);
    const logIn = async (token: string) => {
      await page.getByLabel("Token of a user of the cluster").fill(token);
      await page.getByRole("button", { name: "Log in" }).click();
    };
    await logIn(stranger);
    await expect
      .poll(() => page.getByRole("alert").innerText(), long)
      .toContain(`system:serviceaccount:${sandbox.name}:stranger may not list persistentvolumes in the whole cluster`);
    await logIn(viewer);
    const row = page.locator(".grid tr", { hasText: volume });
    await expect.poll(() => row.allInnerTexts(), long).toEqual([expect.stringContaining("OK")]);
    await row.click();
    const details = page.getByRole("region", { name: "Details" });
    await expect.poll(() => details.innerText(), long).toContain("mount serving");
    const text = await details.innerText();
    for (const part of [sandbox.bucket, node, "mp-", `${sandbox.name}/app`]) expect(text).toContain(part);
    expect(await page.locator(".live").innerText()).toMatch(/the lab\s+live$/);

    // Prometheus needs the right to read metrics, which viewers of the page do not have.
    expect((await metricsOf(viewer)).code).toBe(403);
    await cluster.kubectl(
      "create",
      "clusterrolebinding",
      scraping,
      "--clusterrole=s3-csi-metrics-reader",
      ...to("scraper"),
    );
    bound.defer(async () => void (await cluster.kubectl("delete", "clusterrolebinding", scraping)));
    await expect.poll(async () => (await metricsOf(scraper)).code, long).toBe(200);
    const { text: metrics } = await metricsOf(scraper);
    expect(metrics).toMatch(/^s3_csi_build_info\{component="s3-csi-ui",/m);
    expect(metrics).toMatch(/^s3_csi_page_viewers 1$/m);
    expect(metrics).toMatch(/^s3_csi_page_requests_total\{what="feed",code="403"\} [1-9]/m);
    expect(metrics).toMatch(/^s3_csi_loop_stalled_seconds\{loop="watch over PersistentVolumes"\} \d/m);

    // It follows, like the page of the plugin.
    await cluster.deletePod(pod);
    await expect.poll(() => details.innerText(), long).toContain("No Pod uses the volume.");

    await bound.disposeAsync();
    await expect.poll(() => page.getByRole("alert").innerText(), long).toContain(":viewer may not list");
    expect(await page.content()).not.toContain(volume);
    expect((await feed(viewer)).status).toBe(403);
    // The browser reports requests that are refused, and the feed that was ended.
    expect(faults.filter((fault) => !/status of 40[13]/.test(fault))).toEqual([]);

    const requests = requestsOf(cluster, { namespace, name: "s3-csi-driver-ui-sa" });
    const written = requests.filter(({ verb }) => !["get", "list", "watch"].includes(verb));
    expect(new Set(written.map(({ requestURI }) => requestURI.split("?")[0]))).toEqual(
      new Set(["/apis/authentication.k8s.io/v1/tokenreviews", "/apis/authorization.k8s.io/v1/subjectaccessreviews"]),
    );
  }
  await expect.poll(objectsOfThePage, long).toEqual([]);
});

async function metricsOf(token: string): Promise<{ readonly code: number; readonly text: string }> {
  const pods = await cluster.list<Pod & { status?: { podIP?: string } }>(
    "pods",
    "-n",
    namespace,
    "-l",
    "app=s3-csi-ui",
  );
  const answer = await fetch(`http://${pods[0]?.status?.podIP}:9812/metrics`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { code: answer.status, text: await answer.text() };
}

async function objectsOfThePage(): Promise<readonly string[]> {
  const kinds = "deployment,pod,service,serviceaccount,clusterrole,clusterrolebinding,networkpolicy";
  const names = await cluster.kubectl("get", kinds, "-n", namespace, "-o", "name");
  return names.split("\n").filter((name) => /s3-csi-(driver-)?ui/.test(name));
}
