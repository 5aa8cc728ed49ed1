import { expect, it } from "vitest";
import { unlessErrno } from "./errno.ts";

function failing(code: string): () => never {
  return () => {
    throw Object.assign(new Error(code), { code });
  };
}

it("answers undefined for the codes that it names, and throws every other error", () => {
  expect(unlessErrno(["ENOENT"], () => "found")).toBe("found");
  expect(unlessErrno(["ENOENT", "ESRCH"], failing("ESRCH"))).toBeUndefined();
  expect(() => unlessErrno(["ENOENT"], failing("EACCES"))).toThrow("EACCES");
});
