/** The one version of image, chart, labels, user agent and GetPluginInfo (OP-1): that of package.json. */
import manifest from "../../package.json" with { type: "json" };

export const version: string = manifest.version;
