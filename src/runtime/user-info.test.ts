import { expect, it } from "vitest";
import { jsonLogger } from "./log.ts";
import { withoutUserInfo } from "./user-info.ts";

it.for([
  ["http://user:hunter2@proxy:3128", "http://proxy:3128"],
  ["https://hunter2@proxy/", "https://proxy/"],
  ["http://user:hunter2@at@proxy", "http://proxy"],
  ["socks5h://user:hunter2@[::1]:1080", "socks5h://[::1]:1080"],
  ["cannot reach HTTP://user:hunter2@a, nor http://b:hunter2@c", "cannot reach HTTP://a, nor http://c"],
  ["http://proxy:3128/a@b", "http://proxy:3128/a@b"],
  ["busybox:1@sha256:abc", "busybox:1@sha256:abc"],
] as const)("%s is shown as %s", ([text, shown]) => {
  expect(withoutUserInfo(text)).toBe(shown);
});

it("SE-4 no log entry has a URL with a password, wherever it stands", () => {
  let lines = "";
  const log = jsonLogger((line) => (lines += line), 4, { proxy: { HTTPS_PROXY: "http://user:hunter2@proxy" } });
  const url = "http://user:hunter2@other";
  log.info("starts", { urls: new Set([url]), error: new Error(`no way to ${url}`, { cause: new Error(url) }) });
  log.debug("call answered", { request: { volumeContext: { "mountpointEnv.HTTPS_PROXY": url } } });
  expect(lines).not.toContain("hunter2");
  expect(lines).toContain('"HTTPS_PROXY":"http://proxy"');
  expect(lines).toContain('"mountpointEnv.HTTPS_PROXY":"http://other"');
});
