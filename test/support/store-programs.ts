/** Where `./dev test` has built the programs of a store that a test starts. */
export function programsOf(store: "MINIO" | "GARAGE"): string {
  const directory = process.env[`${store}_PROGRAMS`];
  if (directory === undefined) throw new Error(`${store}_PROGRAMS is not set: run the file with ./dev test`);
  return directory;
}
