import { expect, it } from "vitest";
import { tokenOf } from "../../../test/support/service-account-token.ts";
import { tokenIn, withoutTokens } from "./service-account-tokens.ts";

const key = "csi.storage.k8s.io/serviceAccount.tokens";
const account = { namespace: "team-a", name: "reader" };
const token = tokenOf("system:serviceaccount:team-a:reader");
const sent = (text = token) => JSON.stringify({ sts: { token: text, expirationTimestamp: "2026-11-19T00:00:00Z" } });

it.for([
  ["secrets, as Kubernetes 1.35 can do", { secrets: { [key]: sent() }, volumeContext: {} }],
  ["volume context", { secrets: {}, volumeContext: { [key]: sent() } }],
  ["secrets rather than the context", { secrets: { [key]: sent() }, volumeContext: { [key]: sent("other") } }],
] as const)("ID-1 the token is taken from the %s", ([, request]) => {
  expect(tokenIn(request, "sts", account).reveal()).toBe(token);
});

it("ID-1 tokens are not keys of the volume's Secret", () => {
  expect(withoutTokens({ [key]: sent(), access_key_id: "id" })).toEqual({ access_key_id: "id" });
});

it.for([
  ["none", {}],
  ["none for the audience", { [key]: JSON.stringify({ other: { token } }) }],
  ["an empty one", { [key]: sent("") }],
  ["a text that is not JSON", { [key]: token }],
  ["null", { [key]: "null" }],
] as const)("ID-3 a call with %s names audience and chart value, and is repeated", ([, volumeContext]) => {
  const request = { secrets: {}, volumeContext };
  expect(() => tokenIn(request, "sts", account)).toThrow(
    expect.objectContaining({
      kind: "notReady",
      message: expect.stringContaining("audience sts"),
      hint: expect.stringContaining("podIdentity.enabled"),
    }),
  );
});

it.for([
  "system:serviceaccount:team-a:admin",
  "system:serviceaccount:team-b:reader",
  "system:serviceaccount:team-a:reader2",
  "system:serviceaccount:team-a:reader:x",
  "",
])("ID-1 a volume that brings the token of %j does not get that account's data", (subject) => {
  const request = { secrets: {}, volumeContext: { [key]: sent(tokenOf(subject)) } };
  expect(() => tokenIn(request, "sts", account)).toThrow(expect.objectContaining({ kind: "denied" }));
});

it("ID-1 a text that is no token is refused, and not shown", () => {
  const request = { secrets: {}, volumeContext: { [key]: sent("hunter2") } };
  expect(() => tokenIn(request, "sts", account)).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining("hunter2") }),
  );
});
