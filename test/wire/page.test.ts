/** The page of `kubectl s3 ui` in Chromium, with a feed of clusters that do not exist. */
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pageFiles } from "../../scripts/page.ts";
import { type PageServer, startPageServer } from "../../src/cli/ui/page-server.ts";
import { Feed } from "../../src/page/feed.ts";
import type { PageFiles } from "../../src/page/page-files.ts";
import {
  attachmentView,
  emptyState,
  eventView,
  largeRates,
  largeState,
  mountpointPodView,
  volumeView,
  workloadView,
} from "../../src/page/page-state.fixture.ts";
import { openBrowser, openPage } from "../support/browser.ts";

let browser: Browser;
let files: PageFiles;

beforeAll(async () => {
  [browser, files] = await Promise.all([openBrowser(), pageFiles()]);
});
afterAll(async () => await browser.close());

const small = emptyState({
  volumes: [
    volumeView("alpha"),
    volumeView("beta", {
      ...{ health: "problem", problems: ["worker-2: Access Denied; check the Secret"] },
      attachments: [attachmentView("s3pa-beta", { node: "worker-2", health: "problem" })],
    }),
    volumeView("gamma", { health: "idle", attachments: [] }),
  ],
  events: [eventView("e1", { isWarning: true, reason: "FailedMount", message: "no such key", volumes: ["beta"] })],
});

class ServedPage implements AsyncDisposable {
  readonly feed: Feed;
  readonly server: PageServer;

  constructor(feed: Feed, server: PageServer) {
    this.feed = feed;
    this.server = server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
  }
}

async function serve(state = small, { token = "token", port = 0 } = {}): Promise<ServedPage> {
  const feed = new Feed();
  feed.setState(state);
  return new ServedPage(feed, await startPageServer({ files, feed, token, port }));
}

const rowsOf = (page: Page) => page.locator(".grid tbody:not([aria-hidden]) tr");

it("shows the overview, and of the selected volume topology, problems and events", async () => {
  await using served = await serve();
  const { page, faults } = await openPage(browser, served.server.address);
  await rowsOf(page).nth(1).click();
  const details = page.getByRole("region", { name: "Details" });
  await expect.poll(() => details.innerText()).toContain("worker-2: Access Denied; check the Secret");
  const text = await details.innerText();
  for (const part of ["bucket-beta", "worker-2", "mp-s3pa-beta", "shop/app-of-mp-s3pa-beta", "no such key"]) {
    expect(text).toContain(part);
  }
  expect((await page.getByRole("region", { name: "Overview" }).innerText()).replaceAll(/\s+/g, " ")).toBe(
    "1 Problem 0 Waiting 1 OK 1 Idle 3 volumes 2 nodes 2 Mountpoint Pods 2 workloads",
  );
  // The token is in no address that a bookmark or a screenshot would keep.
  expect(page.url()).not.toContain("token");
  expect(faults).toEqual([]);
  await page.close();
});

it("follows changes without a reload, and announces them", async () => {
  await using served = await serve();
  const { page, faults } = await openPage(browser, served.server.address);
  await expect.poll(() => rowsOf(page).count()).toBe(3);
  served.feed.setState({
    ...small,
    volumes: [volumeView("alpha", { health: "waiting" }), ...small.volumes.slice(2), volumeView("new")],
  });
  await expect
    .poll(() => rowsOf(page).allInnerTexts())
    .toEqual([
      expect.stringMatching(/Waiting\s+alpha/),
      expect.stringMatching(/Idle\s+gamma/),
      expect.stringMatching(/OK\s+new/),
    ]);
  await expect
    .poll(() => page.getByRole("status").allInnerTexts())
    .toContain("alpha: Waiting. new: OK. beta: removed.");
  expect(faults).toEqual([]);
  await page.close();
});

it("shows rates in the list and in the topology, as soon as they are known", async () => {
  await using served = await serve();
  const { page, faults } = await openPage(browser, served.server.address);
  await rowsOf(page).first().click();
  const details = page.getByRole("region", { name: "Details" });
  await expect.poll(() => details.innerText()).toContain("mp-s3pa-alpha");
  expect(await rowsOf(page).first().innerText()).not.toContain("B/s");
  served.feed.setRates({ "mp-s3pa-alpha": { readBytes: 3 * 2 ** 20, writtenBytes: 2 ** 20, requests: 12, errors: 0 } });
  await expect.poll(() => details.innerText()).toContain("reads 3.0 MiB/s · writes 1.0 MiB/s · 12.0 requests/s");
  expect(await rowsOf(page).allInnerTexts()).toEqual([
    expect.stringContaining("4.0 MiB/s"),
    expect.not.stringContaining("B/s"),
    expect.not.stringContaining("B/s"),
  ]);
  await page.goto(`${new URL(served.server.address).origin}/#/nodes/worker-1`);
  await expect.poll(() => details.innerText()).toContain("writes 1.0 MiB/s");
  expect(faults).toEqual([]);
  await page.close();
});

it("is used with the keyboard alone", async () => {
  await using served = await serve();
  const { page } = await openPage(browser, served.server.address);
  await expect.poll(() => rowsOf(page).count()).toBe(3);
  const selected = () => page.locator('[aria-selected="true"]').innerText();
  const focused = () => page.evaluate("document.activeElement.tagName");
  await page.keyboard.press("/");
  await page.keyboard.type("beta");
  await expect.poll(() => rowsOf(page).count()).toBe(1);
  await page.keyboard.press("Escape");
  await expect.poll(() => rowsOf(page).count()).toBe(3);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  await expect.poll(selected).toContain("gamma");
  await page.keyboard.press("ArrowUp");
  await expect.poll(selected).toContain("beta");
  await page.keyboard.press("Enter");
  await expect.poll(focused).toBe("H2");
  await page.keyboard.press("Escape");
  await expect.poll(focused).toBe("TABLE");
  await page.close();
});

it("filters by health, and leads from a volume to its node and back", async () => {
  await using served = await serve();
  const { page } = await openPage(browser, served.server.address);
  await page.getByRole("button", { name: "Problem" }).click();
  await expect.poll(() => rowsOf(page).count()).toBe(1);
  await rowsOf(page).click();
  await page.getByRole("link", { name: "worker-2" }).click();
  await expect.poll(() => page.locator("h2").innerText()).toBe("worker-2");
  await page.getByRole("link", { name: "beta" }).click();
  await expect.poll(() => page.locator("h2").innerText()).toBe("beta");
  await page.goBack();
  await expect.poll(() => page.locator("h2").innerText()).toBe("worker-2");
  await page.close();
});

it.for(
  (["light", "dark"] as const).flatMap((scheme) =>
    ["#/volumes/pvc-00003", "#/nodes/worker-3", "#/events"].map((view) => ({ scheme, view })),
  ),
)("axe finds nothing in $view, $scheme", async ({ scheme, view }) => {
  await using served = await serve(largeState(200));
  served.feed.setConnection("the API server does not answer");
  served.feed.setRates(largeRates(200));
  // axe is put into the page from outside.
  const options = { colorScheme: scheme, bypassCSP: true };
  const { page } = await openPage(browser, served.server.address, options);
  await page.goto(`${new URL(served.server.address).origin}/${view}`);
  await page.locator("h2").waitFor();
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>("axe.run(document)");
  const findings = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  expect(findings).toEqual([]);
  await page.close();
});

it("shows what tenants write as text, whatever they write", async () => {
  const evil = `<img src=x onerror="alert(1)"><script>alert(2)</script>javascript:alert(3)`;
  const pod = mountpointPodView(evil, { problem: evil, phase: evil, workloads: [workloadView(evil)] });
  const volume = volumeView(evil, {
    ...{ bucket: evil, prefix: evil, handle: evil, mountOptions: [evil], identity: evil, problems: [evil] },
    claim: { namespace: evil, name: evil },
    attachments: [attachmentView(evil, { node: evil, fsGroup: evil, mountpointPods: [pod] })],
  });
  const event = eventView(evil, { reason: evil, message: evil, kind: evil, name: evil, volumes: [evil] });
  await using served = await serve(
    emptyState({ context: evil, volumes: [volume], events: [event], unreadable: [evil] }),
  );
  const { page, faults } = await openPage(browser, served.server.address);
  await rowsOf(page).click();
  await expect.poll(() => page.locator("h2").innerText()).toBe(evil);
  await page.locator(".card a").click();
  await expect.poll(() => page.locator("h3").first().innerText()).toBe("Mountpoint Pods");
  await page.goto(`${new URL(page.url()).origin}/#/events`);
  await expect.poll(() => page.locator(".events").innerText()).toContain(evil);
  expect(await page.locator("img, #page script, iframe").count()).toBe(0);
  expect(await page.locator('a:not([href^="#/"])').count()).toBe(0);
  expect(faults).toEqual([]);
  await page.close();
});

it("says that the cluster is lost, and takes it back", async () => {
  await using served = await serve();
  const { page } = await openPage(browser, served.server.address);
  await expect.poll(() => page.locator(".live").innerText()).toMatch(/live$/);
  served.feed.setConnection("the API server does not answer: ECONNREFUSED");
  await expect.poll(() => page.locator(".notices").innerText()).toContain("connection to the cluster is lost");
  expect(await rowsOf(page).count()).toBe(3);
  served.feed.setConnection("");
  await expect.poll(() => page.locator(".notices").innerText()).toBe("");
  await page.close();
});

it("says that the plugin has ended, finds it again, and does not take another run for it", async () => {
  const first = await serve();
  const { page } = await openPage(browser, first.server.address);
  await expect.poll(() => rowsOf(page).count()).toBe(3);
  const port = Number(new URL(first.server.address).port);
  await first.server.close();
  await expect.poll(() => page.locator(".notices").innerText()).toContain("plugin does not answer");
  {
    await using again = await serve(emptyState({ volumes: [volumeView("delta")] }), { port });
    expect(again.server.address).toBe(first.server.address);
    await expect.poll(() => rowsOf(page).allInnerTexts()).toEqual([expect.stringContaining("delta")]);
    expect(await page.locator(".notices").innerText()).toBe("");
  }
  await using _other = await serve(small, { port, token: "other" });
  await expect.poll(() => page.locator(".notices").innerText()).toContain("earlier run of the plugin");
  expect(await rowsOf(page).count()).toBe(1);
  await page.close();
});

it("keeps few rows of 1,000 volumes in the document, wherever the list is scrolled to", async () => {
  await using served = await serve(largeState(1000));
  const { page, faults } = await openPage(browser, served.server.address);
  await expect.poll(() => page.locator(".count").innerText()).toBe("1,000 volumes");
  expect(await page.locator(".grid").getAttribute("aria-rowcount")).toBe("1001");
  await page.locator(".grid").focus();
  await page.keyboard.press("End");
  await expect.poll(() => page.locator('[aria-selected="true"]').innerText()).toContain("pvc-00999");
  const inSight = () =>
    page.evaluate("document.querySelector('#row-999')?.getBoundingClientRect().bottom <= innerHeight");
  await expect.poll(inSight).toBe(true);
  expect(await rowsOf(page).count()).toBeLessThan(60);
  expect(faults).toEqual([]);
  await page.close();
});

it("answers strangers with nothing but a refusal", async () => {
  await using served = await serve();
  const { origin } = new URL(served.server.address);
  const codes = await Promise.all([
    fetch(`${origin}/feed`),
    fetch(`${origin}/feed`, { headers: { authorization: "Bearer wrong" } }),
    fetch(`${origin}/`, { method: "POST" }),
    fetch(`${origin}/`, { headers: { origin: "http://evil.example" } }),
    fetch(`${origin}/../../etc/passwd`),
    fetch(`${origin}/__proto__`),
  ]);
  expect(codes.map(({ status }) => status)).toEqual([401, 401, 405, 403, 404, 404]);
  const { headers } = await fetch(`${origin}/`);
  expect(headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
  expect(headers.get("content-security-policy")).not.toContain("unsafe");
});
