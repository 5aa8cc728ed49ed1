/** The output of `--version`: one JSON object with the fields of 2.x, including those of its Go build. */
export function versionReport(driverVersion: string): string {
  const { arch, platform, version } = process;
  const report = {
    driverVersion,
    gitCommit: "unknown",
    buildDate: "unknown",
    goVersion: "none",
    compiler: `node ${version}`,
    platform: `${platform}/${arch === "x64" ? "amd64" : arch}`,
  };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}
