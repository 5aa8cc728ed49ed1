/** `kubectl s3 ui` on a real cluster: the page in Chromium follows a workload from its start to its end. */
import { expect, it } from "vitest";
import { pageFiles } from "../../scripts/page.ts";
import { logIn } from "../../src/cli/api/login.ts";
import { followAsUser } from "../../src/cli/ui/follow-as-user.ts";
import { startPageServer } from "../../src/cli/ui/page-server.ts";
import { Feed } from "../../src/page/feed.ts";
import { openBrowser, openPage } from "../support/browser.ts";
import { openCluster } from "../support/cluster.ts";
import { killMountS3, long } from "../support/healing.ts";

const cluster = openCluster();
const node = "worker-1";

it("the page follows a workload that starts, loses its mount-s3, is healed, and ends", async () => {
  await using sandbox = await cluster.sandbox();
  await using stack = new AsyncDisposableStack();
  const feed = new Feed();
  const server = await startPageServer({ files: await pageFiles(), feed, token: "token", port: 0 });
  stack.defer(() => server.close());
  const stop = new AbortController();
  const following = followAsUser(
    stop.signal,
    logIn({ kubeconfig: cluster.lab.layout.kubeconfig }),
    {},
    {
      onState: (state) => feed.setState(state),
      onConnection: (problem) => feed.setConnection(problem),
      isWatched: () => feed.isWatched,
      onRates: (rates) => feed.setRates(rates),
    },
  );
  stack.defer(async () => {
    stop.abort();
    await following;
  });
  const browser = await openBrowser();
  stack.defer(() => browser.close());
  const { page, faults } = await openPage(browser, server.address);
  await expect.poll(() => page.locator(".live").innerText(), long).toMatch(/\blive$/);

  const volume = await sandbox.volume();
  const row = page.locator(".grid tr", { hasText: volume });
  await expect.poll(() => row.allInnerTexts(), long).toEqual([expect.stringContaining("Idle")]);
  await row.click();
  const details = page.getByRole("region", { name: "Details" });
  await expect.poll(() => details.innerText(), long).toContain("No Pod uses the volume.");

  const pod = await sandbox.pod("app", { node, claim: volume });
  await expect.poll(() => row.innerText(), long).toContain("OK");
  await expect.poll(() => details.innerText(), long).toContain("mount serving");
  const text = await details.innerText();
  for (const part of [sandbox.bucket, node, "mp-", `${sandbox.name}/app`]) expect(text).toContain(part);

  await cluster.untilReady(pod);
  // An event of the workload.
  await expect.poll(() => details.innerText(), long).toContain("Successfully assigned");
  // Of what mount-s3 reports to the node plugin, once it was read twice.
  const work = "while true; do head -c 100000 /dev/zero > /data/$(date +%s); sleep 1; done > /dev/null 2>&1 &";
  await cluster.exec(pod, work);
  await expect.poll(() => details.innerText(), long).toMatch(/writes [1-9][\d.]* [KM]iB\/s · [1-9]/);
  expect(await row.innerText()).toMatch(/iB\/s/);
  await killMountS3(cluster, node, volume);
  await expect.poll(() => details.innerText(), long).toContain("healed once");
  await expect.poll(() => row.innerText(), long).toContain("OK");

  await cluster.deletePod(pod);
  await expect.poll(() => details.innerText(), long).toContain("No Pod uses the volume.");
  expect(await row.innerText()).toContain("Idle");
  expect(faults).toEqual([]);
});
