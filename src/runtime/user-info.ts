/**
 * A text that leaves us, with the URLs in it as they may be seen: proxies are often written with a name and a password.
 * Logs, answers and events all pass here.
 */
export function withoutUserInfo(text: string): string {
  return text.replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"']*@/gi, "$1");
}
