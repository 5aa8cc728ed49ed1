import { buildNative } from "../../scripts/native.ts";

/** Wire tests run the real addon; it is built when its source has changed. */
export function setup(): void {
  buildNative();
}
