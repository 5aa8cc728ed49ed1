/** SC-7. Reports that an account may not use the lease that its process requires. */
import type { Call } from "../../runtime/call.ts";
import type { Candidate, Leadership } from "./lease.ts";
import type { Input, Next } from "./lease-state.ts";

export class LeaseRight {
  readonly #call: Call;
  readonly #candidate: Candidate;
  readonly #onForbidden: Leadership["onForbidden"];
  #isForbidden = false;

  constructor(call: Call, candidate: Candidate, onForbidden: Leadership["onForbidden"]) {
    this.#call = call;
    this.#candidate = candidate;
    this.#onForbidden = onForbidden;
  }

  /** `asked` is the request that was answered with `input`, and `next` the request that follows. */
  follow(asked: Next, { saw }: Input, next: Next): void {
    const { required, lease } = this.#candidate;
    if (!required || provesNothing(saw, next)) return;
    const isForbidden = saw === "forbidden";
    if (isForbidden && !this.#isForbidden) {
      const missingRight = `${verbOf(asked)} leases.coordination.k8s.io`;
      const message = "this account may not use the required lease: this replica cannot become active";
      this.#call.log.error(message, { missingRight, ...lease });
    }
    this.#isForbidden = isForbidden;
    this.#onForbidden?.(isForbidden);
  }
}

/** An API server that does not answer has neither granted nor forbidden anything, and one that shows a free lease may forbid its write. */
function provesNothing(saw: Input["saw"], next: Next): boolean {
  return saw === "failure" || (saw === "lease" && next.do === "write");
}

function verbOf(asked: Next): "get" | "create" | "patch" {
  if (asked.do === "look") return "get";
  return asked.over === undefined ? "create" : "patch";
}
