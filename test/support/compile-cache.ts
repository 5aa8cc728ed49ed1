/**
 * For programs that a test starts from their sources with variables of its own: without it every start strips types and compiles
 * anew, which takes half a second of CPU time.
 */
export const compileCache: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(process.env).filter((entry): entry is [string, string] => entry[0] === "NODE_COMPILE_CACHE"),
);
