/** The token of this run of the plugin: the address that it prints has it in the fragment, which browsers keep to themselves. */

const stored = "token";

/** Undefined: the page was opened without one. A reload finds it in the storage of the tab. */
export function takeToken(): string | undefined {
  const given = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (given === undefined) return sessionStorage.getItem(stored) ?? undefined;
  sessionStorage.setItem(stored, given);
  // Out of the address bar, and so out of bookmarks and screenshots.
  history.replaceState(undefined, "", location.pathname);
  return given;
}
