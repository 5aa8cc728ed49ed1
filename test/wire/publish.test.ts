/** Publishing and healing on the real kernel. */
import { expect, it } from "vitest";
import { scenariosOf } from "./fuse-scenarios.ts";

const observe = scenariosOf("publish");

it.for(["editedThenPublished", "editedThenHealed"])(
  "DS-15 a running workload keeps its prefix when the volume is edited and mount-s3 dies: %s",
  async (scenario) => {
    const prefixes = ["--prefix=one/", "--prefix=one/"];
    await expect(observe(scenario)).resolves.toEqual({ prefixes, health: "serving" });
  },
);

it("DS-15 an edited volume without running workloads is mounted with its current options", async () => {
  const prefixes = ["--prefix=one/", "--prefix=two/"];
  await expect(observe("editedWithoutUsers")).resolves.toEqual({ prefixes, health: "serving" });
});
