/** The page as the cluster serves it: who is let in, for how long, and what a browser shows to those who are not. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import type { Browser } from "playwright-core";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pageFiles } from "../../scripts/page.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import type { PageFiles } from "../../src/page/page-files.ts";
import { jsonLogger } from "../../src/runtime/log.ts";
import type { UiConfig } from "../../src/ui-server/config.ts";
import { UiMetrics } from "../../src/ui-server/metrics.ts";
import type { PageServer } from "../../src/ui-server/page-server.ts";
import { runUi } from "../../src/ui-server/run-ui.ts";
import { openBrowser, openPage } from "../support/browser.ts";
import { FakeApiServer } from "../support/fake-api-server.ts";
import { certificateFor } from "../support/tls-endpoint.ts";

let browser: Browser;
let files: PageFiles;

beforeAll(async () => {
  [browser, files] = await Promise.all([openBrowser(), pageFiles("cluster")]);
});
afterAll(async () => await browser.close());

const attachments = "mountpoints3podattachments.s3.csi.scality.com";
const everything: ReadonlySet<string> = new Set(["persistentvolumes", attachments, "pods", "events"]);
const volume = {
  metadata: { name: "data", uid: "data", creationTimestamp: "2026-01-01T00:00:00Z", resourceVersion: "1" },
  spec: { csi: { driver: "s3.csi.scality.com", volumeHandle: "data", volumeAttributes: { bucketName: "photos" } } },
};

class ServedUi implements AsyncDisposable {
  readonly api = new FakeApiServer();
  readonly log: string[] = [];
  readonly #stop = new AbortController();
  readonly #registry = new Registry();
  #client: KubeClient | undefined;
  #running: Promise<void> = Promise.resolve();
  port = 0;

  /** `viewer` may see everything, `tenant` everything but Pods. */
  static async start(address: Partial<UiConfig["address"]> = {}, figures = 1): Promise<ServedUi> {
    const ui = new ServedUi();
    ui.api.volumes = [volume];
    ui.api.nodePlugins = ["127.0.0.1"];
    ui.api.users.set("token-of-viewer", "viewer").set("token-of-tenant", "tenant");
    ui.api.rights.set("viewer", everything).set("tenant", new Set([...everything].filter((each) => each !== "pods")));
    await ui.api.start();
    const credentials = {
      server: new URL(`http://127.0.0.1:${ui.api.port}`),
      tls: () => ({}),
      token: () => undefined,
    };
    ui.#client = new KubeClient(credentials, { userAgent: "test" });
    const serving = Promise.withResolvers<PageServer>();
    const metrics = new UiMetrics(ui.#registry);
    ui.#running = runUi(
      { signal: ui.#stop.signal, log: jsonLogger((line) => ui.log.push(line), 9) },
      {
        client: ui.#client,
        files,
        pace: { allowedMs: 100, recheckMs: 50 },
        config: {
          address: { port: 0, hosts: ["s3.example.com"], tls: undefined, mostViewers: 2, ...address },
          clusterName: "production",
          mountpointNamespace: "mount-s3",
          ratesFrom: { driverNamespace: "kube-system", port: figures },
        },
        onServing: (server) => {
          metrics.measure(server);
          serving.resolve(server);
        },
        onAnswered: metrics.answered,
        onState: () => undefined,
      },
    );
    ui.port = (await serving.promise).port;
    return ui;
  }

  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The samples of a metric. */
  async measured(name: string): Promise<readonly string[]> {
    const lines = (await this.#registry.metrics()).split("\n");
    return lines.filter((line) => line.startsWith(name)).map((line) => line.slice(name.length).trim());
  }

  async feed(token?: string): Promise<Response> {
    return await fetch(`${this.address}/feed`, token === undefined ? {} : { headers: bearer(token) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#client?.[Symbol.dispose]();
    await this.api.stop();
  }
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

/** The first part of a feed that has this text. */
async function until(response: Response, text: string): Promise<void> {
  const reader = response.body?.getReader();
  let seen = "";
  while (!seen.includes(text)) {
    const part = await reader?.read();
    if (part === undefined || part.done) throw new Error(`the feed ended without ${text}: ${seen}`);
    seen += new TextDecoder().decode(part.value);
  }
  reader?.releaseLock();
}

/** Resolves when the server has ended the feed. */
async function ended(response: Response): Promise<void> {
  const reader = response.body?.getReader();
  while (!(await reader?.read())?.done);
}

it("the feed is for users who may list all that it shows; others are told what they lack", async () => {
  await using ui = await ServedUi.start();
  const codes = [await ui.feed(), await ui.feed("wrong"), await ui.feed("token-of-tenant")];
  expect(codes.map(({ status }) => status)).toEqual([401, 401, 403]);
  expect(await codes[2]?.text()).toContain("tenant may not list pods in the whole cluster: bind it to a ClusterRole");
  const feed = await ui.feed("token-of-viewer");
  expect(feed.status).toBe(200);
  await until(feed, '"photos"');
  await feed.body?.cancel();
});

it("OP-3 pages that are open and answers are counted, by what they were", async () => {
  await using ui = await ServedUi.start();
  expect(await ui.measured("s3_csi_page_viewers")).toEqual(["0"]);
  const feed = await ui.feed("token-of-viewer");
  await until(feed, '"photos"');
  expect(await ui.measured("s3_csi_page_viewers")).toEqual(["1"]);
  await (await ui.feed("token-of-tenant")).text();
  for (const path of ["/", "/none-1", "/none-2"]) await (await fetch(`${ui.address}${path}`)).text();
  await feed.body?.cancel();
  await expect
    .poll(async () => (await ui.measured("s3_csi_page_requests_total")).toSorted())
    .toEqual([
      '{what="feed",code="200"} 1',
      '{what="feed",code="403"} 1',
      '{what="file",code="200"} 1',
      '{what="file",code="404"} 2',
    ]);
  expect(await ui.measured("s3_csi_page_viewers")).toEqual(["0"]);
});

it("rates come from the node plugins, without a token, while somebody looks", async () => {
  const asked: unknown[] = [];
  const plugin = createServer(({ url, headers }, response) => {
    asked.push([url, headers.authorization]);
    response.end('s3_csi_volume_s3_requests_total{mountpoint_pod="mp-a"} 5\n');
  }).listen(0, "127.0.0.1");
  await once(plugin, "listening");
  {
    await using ui = await ServedUi.start({}, (plugin.address() as AddressInfo).port);
    const feed = await ui.feed("token-of-viewer");
    await until(feed, '"type":"rates"');
    await feed.body?.cancel();
  }
  expect(asked).toEqual([["/metrics", undefined]]);
  plugin.close();
});

it("the files of the page are open, and nothing else is answered", async () => {
  await using ui = await ServedUi.start();
  const codes = await Promise.all([
    fetch(`${ui.address}/`),
    fetch(`${ui.address}/page.js`),
    fetch(`${ui.address}/__proto__`),
    fetch(`${ui.address}/feed?token=token-of-viewer`),
    fetch(`${ui.address}/feed`, { method: "POST", headers: bearer("token-of-viewer") }),
    fetch(`${ui.address}/feed`, { headers: { ...bearer("token-of-viewer"), origin: "http://evil.example" } }),
    fetch(`${ui.address}/feed`, { headers: { ...bearer("token-of-viewer"), "sec-fetch-site": "cross-site" } }),
  ]);
  expect(codes.map(({ status }) => status)).toEqual([200, 200, 404, 401, 405, 403, 403]);
  expect(codes[0]?.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
  expect(codes[0]?.headers.get("set-cookie")).toBeNull();
});

it.for<{ what: string; change: (api: FakeApiServer) => void; code: number }>([
  { what: "a right is withdrawn", change: (api) => api.rights.delete("viewer"), code: 403 },
  { what: "the token expires", change: (api) => api.users.delete("token-of-viewer"), code: 401 },
  {
    what: "the API server cannot be asked",
    change: (api) => {
      api.failsReviews = true;
    },
    code: 503,
  },
])("an open feed ends when $what", async ({ change, code }) => {
  await using ui = await ServedUi.start();
  const feed = await ui.feed("token-of-viewer");
  await until(feed, '"photos"');
  change(ui.api);
  await ended(feed);
  expect((await ui.feed("token-of-viewer")).status).toBe(code);
});

it("all viewers share one set of watches, nothing is written, and one viewer too many has to wait", async () => {
  await using ui = await ServedUi.start();
  const feeds = [await ui.feed("token-of-viewer"), await ui.feed("token-of-viewer")];
  for (const feed of feeds) await until(feed, '"photos"');
  expect((await ui.feed("token-of-viewer")).status).toBe(503);
  expect(ui.api.watched.length).toBe(5);
  await feeds[0]?.body?.cancel();
  await expect.poll(async () => (await ui.feed("token-of-viewer")).status).toBe(200);
  expect(new Set(ui.api.reviews)).toEqual(
    new Set([
      "POST /apis/authentication.k8s.io/v1/tokenreviews",
      "POST /apis/authorization.k8s.io/v1/subjectaccessreviews",
    ]),
  );
});

it("the browser asks for a token, keeps it nowhere, and forgets what it showed when the right is withdrawn", async () => {
  await using ui = await ServedUi.start();
  const { page, faults } = await openPage(browser, ui.address);
  const token = page.getByLabel("Token of a user of the cluster");
  await token.fill("token-of-tenant");
  await page.getByRole("button", { name: "Log in" }).click();
  await expect.poll(() => page.getByRole("alert").innerText()).toContain("tenant may not list pods");
  await token.fill("token-of-viewer");
  await token.press("Enter");
  await expect.poll(() => page.locator(".grid").innerText()).toContain("photos");
  await expect.poll(() => page.locator(".live").innerText()).toMatch(/production\s+live$/);
  expect(page.url()).toBe(`${ui.address}/`);
  expect(await page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")).toBe('[{},{},""]');
  expect(await page.context().cookies()).toEqual([]);

  ui.api.rights.set("viewer", new Set([...everything].filter((each) => each !== "events")));
  await expect.poll(() => page.getByRole("alert").innerText()).toContain("viewer may not list events");
  expect(await page.content()).not.toContain("photos");
  // The browser reports refused requests.
  expect(faults.filter((fault) => !/status of 40[13]/.test(fault))).toEqual([]);
  expect(ui.log.join("")).not.toContain("token-of");
  await page.close();
});

it.for(["light", "dark"] as const)("axe finds nothing in the login, %s", async (colorScheme) => {
  await using ui = await ServedUi.start();
  // axe is put into the page from outside.
  const { page } = await openPage(browser, ui.address, { colorScheme, bypassCSP: true });
  await page.getByLabel("Token of a user of the cluster").fill("wrong");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByRole("alert").innerText()).toContain("does not know this token");
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>("axe.run(document)");
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
  await page.close();
});

it("behind a proxy that logs in nobody is asked", async () => {
  await using ui = await ServedUi.start();
  const { page } = await openPage(browser, ui.address, { extraHTTPHeaders: bearer("token-of-viewer") });
  await expect.poll(() => page.locator(".grid").innerText()).toContain("photos");
  await page.close();
});

it("with a certificate it speaks TLS only", async () => {
  const directory = mkdtempSync(join(tmpdir(), "ui-tls-"));
  try {
    const { authority: ca, cert, key } = await certificateFor("s3.example.com");
    writeFileSync(join(directory, "tls.crt"), cert);
    writeFileSync(join(directory, "tls.key"), key);
    await using ui = await ServedUi.start({ tls: directory });
    await expect(fetch(ui.address)).rejects.toThrow("fetch failed");
    const code = await new Promise((resolve, reject) => {
      const headers = { host: "s3.example.com" };
      const options = { port: ui.port, host: "127.0.0.1", servername: "s3.example.com", ca, headers };
      request(options, ({ statusCode }) => resolve(statusCode))
        .on("error", reject)
        .end();
    });
    expect(code).toBe(200);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
