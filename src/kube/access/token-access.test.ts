import { expect, it } from "vitest";
import { DriverError } from "../../core/errors.ts";
import { jsonLogger } from "../../runtime/log.ts";
import { Secret } from "../../runtime/secret.ts";
import { ApiError } from "../client/api-error.ts";
import type { Kind } from "../kinds.ts";
import { TokenAccess } from "./token-access.ts";

/** An API server that knows tokens by their user, and what each user may get. */
function apiServer({
  users = {},
  readers = [],
}: {
  users?: Readonly<Record<string, string>>;
  readers?: readonly string[];
}) {
  const asked: { readonly kind: string; readonly spec: Readonly<Record<string, unknown>> }[] = [];
  const server = {
    asked,
    failure: undefined as Error | undefined,
    until: Promise.resolve(),
    review: async <Shape>(_: unknown, { kind }: Kind<Shape>, spec: object): Promise<Shape> => {
      const given = spec as Readonly<Record<string, unknown>>;
      asked.push({ kind, spec: given });
      await server.until;
      if (server.failure !== undefined) throw server.failure;
      return { status: kind === "TokenReview" ? known(given["token"]) : right(given) } as Shape;
    },
  };
  const known = (token: unknown) => {
    const username = users[String(token)];
    if (username === undefined) return { authenticated: false, error: "no" };
    return { authenticated: true, user: { username, uid: "u-1", groups: ["g"], extra: { pod: ["p"] } } };
  };
  const right = ({ user, nonResourceAttributes, resourceAttributes }: Readonly<Record<string, unknown>>) => ({
    allowed:
      readers.includes(String(user)) &&
      [
        JSON.stringify({ path: "/metrics", verb: "get" }),
        JSON.stringify({ group: "", resource: "pods", verb: "list" }),
      ].includes(JSON.stringify(nonResourceAttributes ?? resourceAttributes)),
  });
  return server;
}

const lines: string[] = [];
const call = { signal: new AbortController().signal, log: jsonLogger((line) => lines.push(line), 9) };
const users = { good: "prometheus", poor: "tenant" };
const readers = ["prometheus"];
const from = "10.0.0.1";
const metrics = { what: "/metrics", rights: [{ verb: "get", path: "/metrics" }], allowedMs: 60_000 };

it.for([
  ["good", { is: "allowed" }],
  ["poor", { is: "forbidden", because: expect.stringContaining("tenant may not get the nonResourceURL /metrics") }],
  ["wrong", { is: "unauthenticated", because: "the API server does not know this token" }],
] as const)("SE-7 the API server decides about the token %s", async ([token, expected]) => {
  const access = new TokenAccess(apiServer({ users, readers }), metrics);
  expect(await access.of(call, new Secret(token), from)).toEqual(expected);
});

it("SE-7 asks about the user with all that authorizers look at", async () => {
  const server = apiServer({ users, readers });
  await new TokenAccess(server, metrics).of(call, new Secret("good"), from);
  expect(server.asked[1]).toEqual({
    kind: "SubjectAccessReview",
    spec: {
      user: "prometheus",
      uid: "u-1",
      groups: ["g"],
      extra: { pod: ["p"] },
      nonResourceAttributes: { path: "/metrics", verb: "get" },
    },
  });
});

it("of several rights every one is needed, and the refusal names those that are missing", async () => {
  const rights = [
    { verb: "list", group: "", resource: "pods" },
    { verb: "list", group: "", resource: "events" },
    { verb: "list", group: "s3.csi.scality.com", resource: "mountpoints3podattachments" },
  ];
  const server = apiServer({ users, readers });
  const access = new TokenAccess(server, { what: "the page", rights, allowedMs: 1000 });
  expect(await access.of(call, new Secret("good"), from)).toEqual({
    is: "forbidden",
    because: expect.stringContaining(
      "prometheus may not list events in the whole cluster, list mountpoints3podattachments.s3.csi.scality.com in the whole cluster:",
    ),
  });
  expect(server.asked.length).toBe(4);
  const own = new TokenAccess(server, { what: "the page", rights: rights.slice(0, 1), allowedMs: 1000 });
  expect(await own.of(call, new Secret("good"), from)).toEqual({ is: "allowed" });
});

it.for([
  ["good", 59_999, 60_000, 2],
  ["poor", 9_999, 10_000, 2],
  ["wrong", 9_999, 10_000, 1],
] as const)("SE-7 the answer about %s counts until %d ms", async ([token, before, after, requests]) => {
  const server = apiServer({ users, readers });
  const access = new TokenAccess(server, metrics);
  for (const nowMs of [0, 1, before]) await access.of(call, new Secret(token), from, nowMs);
  expect(server.asked.length).toBe(requests);
  await access.of(call, new Secret(token), from, after);
  expect(server.asked.length).toBe(2 * requests);
});

it("SE-7 a right that is withdrawn ends within a minute", async () => {
  const [names, mayRead] = [{ ...users }, [...readers]];
  const access = new TokenAccess(apiServer({ users: names, readers: mayRead }), metrics);
  expect(await access.of(call, new Secret("good"), from, 0)).toEqual({ is: "allowed" });
  mayRead.pop();
  expect(await access.of(call, new Secret("good"), from, 60_000)).toMatchObject({ is: "forbidden" });
});

it("SE-7 scrapes that come at the same time share one review", async () => {
  const server = apiServer({ users, readers });
  const answer = Promise.withResolvers<void>();
  server.until = answer.promise;
  const access = new TokenAccess(server, metrics);
  const scrapes = Array.from({ length: 50 }, () => access.of(call, new Secret("good"), from));
  answer.resolve();
  expect(new Set((await Promise.all(scrapes)).map(({ is }) => is))).toEqual(new Set(["allowed"]));
  expect(server.asked.length).toBe(2);
});

it("SE-7 a flood of wrong tokens is few requests, and a scraper that was allowed stays so", async () => {
  const server = apiServer({ users, readers });
  const access = new TokenAccess(server, metrics);
  expect(await access.of(call, new Secret("good"), from, 0)).toEqual({ is: "allowed" });
  const answers = new Set<string>();
  for (let nowMs = 0; nowMs < 100_000; nowMs += 10) {
    answers.add((await access.of(call, new Secret(`wrong-${nowMs}`), `address-${nowMs}`, nowMs)).is);
  }
  expect(answers).toEqual(new Set(["unauthenticated", "unknown"]));
  expect(server.asked.length).toBeLessThan(150);
  // The next wrong token could be reviewed 5 ms later.
  expect(await access.of(call, new Secret("good"), from, 99_995)).toEqual({ is: "allowed" });
});

it("SE-7 one sender of wrong tokens does not use up the reviews of others", async () => {
  const server = apiServer({ users, readers });
  const access = new TokenAccess(server, metrics);
  for (let nowMs = 0; nowMs < 10_000; nowMs += 10) await access.of(call, new Secret(`w${nowMs}`), "10.0.0.66", nowMs);
  expect(server.asked.length).toBe(6);
  expect(await access.of(call, new Secret("good"), from, 10_000)).toEqual({ is: "allowed" });
});

it("SE-7 users behind one proxy do not use up the reviews of its address", async () => {
  const tokens = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`t${index}`, `user-${index}`]));
  const access = new TokenAccess(apiServer({ users: tokens, readers: ["user-14"] }), metrics);
  const answers = [];
  for (const token of Object.keys(tokens)) answers.push((await access.of(call, new Secret(token), from, 0)).is);
  expect(answers).toEqual([...Array(14).fill("forbidden"), "allowed"]);
});

it.for([
  new DriverError("notReady", "the connection to the Kubernetes API server failed"),
  new ApiError(403, "Forbidden", "the account cannot create tokenreviews"),
])("SE-7 nobody is let in while the API server cannot be asked: %s", async (failure) => {
  const server = apiServer({ users, readers });
  const access = new TokenAccess(server, metrics);
  server.failure = failure;
  expect(await access.of(call, new Secret("good"), from, 0)).toMatchObject({ is: "unknown" });
  expect(await access.of(call, new Secret("good"), from, 999)).toMatchObject({ is: "unknown" });
  expect(server.asked.length).toBe(1);
  server.failure = undefined;
  expect(await access.of(call, new Secret("good"), from, 1000)).toEqual({ is: "allowed" });
  expect(lines.join("")).toContain("tokens cannot be checked");
});

it("SE-4 no token is logged", async () => {
  const server = apiServer({});
  server.failure = new Error("no answer");
  await new TokenAccess(server, metrics).of(call, new Secret("token-that-is-secret"), from);
  expect(lines.join("")).not.toContain("token-that-is-secret");
});
