import manifest from "../../package.json" with { type: "json" };

/** The one version of image, labels, user agent and plugin info (OP-1). */
export const version: string = manifest.version;
