import { expect, it } from "vitest";
import { credentialsFrom, volumeCredentialFields } from "./credentials.ts";

const read = (values: Record<string, string>) => credentialsFrom("Secret default/keys", values, volumeCredentialFields);

it("accepts every printable key", () => {
  const key = `-_.~/+="'\\ é`;
  expect(read({ access_key_id: key, secret_access_key: key }).secretAccessKey.reveal()).toBe(key);
});

it("treats an empty session token as none", () => {
  expect(read({ access_key_id: "a", secret_access_key: "b", session_token: " " }).sessionToken).toBeUndefined();
});

it.for([
  { values: {}, problem: "access_key_id in Secret default/keys is missing or empty" },
  {
    values: { access_key_id: "a", secret_access_key: "\n" },
    problem: "secret_access_key in Secret default/keys is missing",
  },
  {
    values: { access_key_id: "a\nb", secret_access_key: "hunter2" },
    problem: "access_key_id in Secret default/keys contains",
  },
  {
    values: { access_key_id: "a", secret_access_key: "b", session_token: "hunter2\0" },
    problem: "session_token in Secret default/keys contains a control character",
  },
])("refuses without a look at the content: $problem", ({ values, problem }) => {
  expect(() => read(values)).toThrow(problem);
  expect(() => read(values)).not.toThrow("hunter2");
});
