import { integer } from "./settings/kinds.ts";
import type { Setting } from "./settings/settings.ts";

/** `--v` of 2.x; from 4 on, the log shows every operation. */
export const verbosity = { flag: "v", kind: integer({ min: 0 }), default: 2 } as const satisfies Setting;
