/** Set-up of the unit ring: property tests draw from the run's seed. fast-check prints it with what it found. */
import * as fc from "fast-check";
import { seed } from "./random.ts";

/** Finding the shortest story takes minutes; scripts/mutate.ts wants to know only whether there is one. */
const endOnFailure = process.env["TEST_SHRINK"] === "no";

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed, endOnFailure });
