/** Set-up of the unit ring: property tests draw from the run's seed. fast-check prints it with what it found. */
import * as fc from "fast-check";
import { seed } from "./random.ts";

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
