/** Debian's Chromium, with pages that note everything that went wrong in them. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

export async function openBrowser(): Promise<Browser> {
  // Tests run as root, for whom Chromium has no sandbox.
  return await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
}

export interface WatchedPage {
  readonly page: Page;
  /** Errors and warnings of the console, exceptions, dialogs, and requests to other hosts. */
  readonly faults: readonly string[];
}

export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 860 }, ...options });
  const faults: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("dialog", (dialog) => faults.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(address).origin)) faults.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  return { page, faults };
}
