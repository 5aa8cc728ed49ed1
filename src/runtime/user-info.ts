/**
 * Removes user names and passwords from the URLs in a text: URLs of proxies often have them. Every log line, answer and event passes
 * through here.
 */
export function withoutUserInfo(text: string): string {
  return text.replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"']*@/gi, "$1");
}
