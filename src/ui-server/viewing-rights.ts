import { attachmentApi } from "../core/names.ts";
import type { Guarded } from "../kube/access/token-access.ts";

/**
 * The page shows what the account of this program reads, in all namespaces: whoever sees it could list all that. Names of claims, nodes
 * and namespaces are in these objects, too. `watch` is not asked for: who may list may list again.
 */
export const viewing: Guarded = {
  what: "the page",
  rights: [
    { verb: "list", group: "", resource: "persistentvolumes" },
    { verb: "list", group: attachmentApi.group, resource: attachmentApi.plural },
    { verb: "list", group: "", resource: "pods" },
    { verb: "list", group: "", resource: "events" },
  ],
  allowedMs: 20_000,
};

/** With the time that an answer counts: a withdrawn right and an expired token end within half a minute. */
export const recheckMs = 5000;
