import { expect, it, vi } from "vitest";
import { refusalIn, sessionIn } from "./answer.ts";

const credentials = (more = "") => `<?xml version="1.0"?>
<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
<AssumedRoleUser><Arn></Arn></AssumedRoleUser>
<Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>a&amp;b&#x2F;c</SecretAccessKey><SessionToken>t+/=</SessionToken>
<Expiration>2026-11-18T12:00:00Z</Expiration></Credentials>${more}
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;

it("ID-1 an answer of STS has temporary credentials and their end", () => {
  const { credentials: keys, endsAt } = sessionIn(credentials()) ?? {};
  expect([keys?.accessKeyId, keys?.secretAccessKey, keys?.sessionToken].map((key) => key?.reveal())).toEqual([
    "ASIA1",
    "a&b/c",
    "t+/=",
  ]);
  expect(endsAt).toEqual(new Date("2026-11-18T12:00:00Z"));
});

it.for([
  ["an empty text", ""],
  ["two sets of credentials", credentials("<Credentials><AccessKeyId>other</AccessKeyId></Credentials>")],
  ["no session token", credentials().replace(/<SessionToken>.*?<\/SessionToken>/, "")],
  ["an end that is no time", credentials().replace("2026-11-18T12:00:00Z", "soon")],
  [
    "a line break in a key, which would add a line to the file of mount-s3",
    credentials().replace("ASIA1", "ASIA1&#10;x"),
  ],
  ["a nested element in a key", credentials().replace("ASIA1", "<b>ASIA1</b>")],
] as const)("ID-1 %s is no answer of STS", ([, xml]) => {
  expect(sessionIn(xml)).toBeUndefined();
});

it.for([
  [
    "AWS and MinIO",
    "<ErrorResponse><Error><Type></Type><Code>AccessDenied</Code><Message>a &lt;b&gt;</Message></Error></ErrorResponse>",
    { code: "AccessDenied", message: "a <b>" },
  ],
  ["Ceph", "<Error><Code>AccessDenied</Code></Error>", { code: "AccessDenied", message: "" }],
  ["a proxy", "<html><body>Bad gateway</body></html>", undefined],
] as const)("ID-3 a refusal of %s", ([, xml, expected]) => {
  expect(refusalIn(xml)).toEqual(expected);
});

it.for(["Error", "Credentials"])(
  "ID-3 an answer with many <%s> and no end tag is searched once for each tag",
  (name) => {
    const xml = `<${name}>`.repeat(10_000);
    const search = vi.spyOn(String.prototype, "indexOf");
    try {
      expect([refusalIn(xml), sessionIn(xml)]).toEqual([undefined, undefined]);
      const tags = search.mock.calls.map(([tag]) => tag);
      expect(tags.toSorted()).toEqual([`</${name}>`, "<Credentials>", "<Error>"]);
    } finally {
      search.mockRestore();
    }
  },
);
