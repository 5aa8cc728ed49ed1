import { expect, it } from "vitest";
import { Feed } from "./feed.ts";
import { emptyState, volumeView } from "./page-state.fixture.ts";
import type { FeedMessage } from "./page-state.ts";

const one = emptyState({ volumes: [volumeView("a")] });
const two = emptyState({ volumes: [volumeView("a"), volumeView("b")] });
const three = emptyState({ volumes: [volumeView("a"), volumeView("b"), volumeView("c")] });

function reader(answers: boolean[] = []) {
  const received: FeedMessage[] = [];
  const send = (message: FeedMessage) => {
    received.push(message);
    return answers.shift() ?? true;
  };
  return { send, received, types: () => received.map(({ type }) => type) };
}

it("a page gets the whole state first, and then changes", () => {
  const feed = new Feed();
  const page = reader();
  feed.subscribe(page);
  feed.setState(one);
  feed.setState(two);
  feed.setState(structuredClone(two));
  expect(page.types()).toEqual(["connection", "state", "change"]);
});

it("a page that reads slowly skips states, and gets the difference to the last one", () => {
  const feed = new Feed();
  feed.setState(one);
  const page = reader([true, false]);
  const { ready } = feed.subscribe(page);
  feed.setState(two);
  feed.setState(three);
  feed.keepAlive();
  expect(page.types()).toEqual(["connection", "state"]);
  ready();
  expect(page.received[2]).toMatchObject({
    type: "change",
    change: { volumes: { changed: [{ name: "b" }, { name: "c" }] } },
  });
});

it("OP-2 a page that reads too slowly for the changes holds no state, and gets the latest one whole", () => {
  const feed = new Feed();
  feed.setState(one);
  const page = reader([true, false]);
  const { ready } = feed.subscribe(page);
  for (let change = 0; change < 50; change += 1) feed.setState(emptyState({ volumes: [volumeView(`v${change}`)] }));
  feed.setState(two);
  ready();
  expect(page.received[2]).toEqual({ type: "state", state: two });
  feed.setState(three);
  expect(page.received[3]).toMatchObject({ type: "change", change: { volumes: { changed: [{ name: "c" }] } } });
});

it("rates go to all pages that read, the latest to a new one, and none that are older than the last page", () => {
  const feed = new Feed();
  const rates = { mp: { readBytes: 1, writtenBytes: 0, requests: 0, errors: 0 } };
  expect(feed.isWatched).toBe(false);
  const [first, second, slow] = [reader(), reader(), reader([false])];
  const { end } = feed.subscribe(first);
  const ends = [end, feed.subscribe(slow).end];
  feed.setRates(rates);
  ends.push(feed.subscribe(second).end);
  expect([first, second, slow].map(({ received }) => received.filter(({ type }) => type === "rates"))).toEqual([
    [{ type: "rates", rates }],
    [{ type: "rates", rates }],
    [],
  ]);
  expect(feed.isWatched).toBe(true);
  for (const each of ends) each();
  expect(feed.isWatched).toBe(false);
  const later = reader();
  feed.subscribe(later);
  expect(later.types()).toEqual(["connection"]);
});

it("a page that was closed gets nothing", () => {
  const feed = new Feed();
  const page = reader();
  feed.subscribe(page).end();
  feed.setState(one);
  expect(page.types()).toEqual(["connection"]);
});

it("a connection that fails in another way is lost since the first failure", () => {
  const feed = new Feed();
  const page = reader();
  feed.subscribe(page);
  feed.setConnection("refused");
  feed.setConnection("timed out");
  feed.setConnection("timed out");
  const [, first, second, ...more] = page.received.map((each) =>
    each.type === "connection" ? each.connection : undefined,
  );
  expect([first?.problem, second?.problem, more]).toEqual(["refused", "timed out", []]);
  expect(second?.since).toBe(first?.since);
});

it("pages that have the same state get the same message, which is made once", () => {
  const feed = new Feed();
  feed.setState(one);
  const pages = [reader(), reader()];
  for (const page of pages) feed.subscribe(page);
  feed.setState(two);
  const [first, second] = pages.map(({ received }) => received.at(-1));
  expect(first?.type).toBe("change");
  expect(second).toBe(first);
});
