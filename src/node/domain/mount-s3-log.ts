/** What mount-s3 is asked to say about its way to the object store, and what it has said. */

/**
 * By itself it says nothing of connections that fail until it gives up, which takes minutes: ten attempts, and its TLS library
 * makes up to half a minute of each that it refuses. These are its defaults and the three places where connections fail.
 */
const filter = [
  "warn",
  "mountpoint_s3=info",
  "mount_s3=info",
  "mountpoint_s3_fs::metrics=off",
  "awscrt=off",
  "awscrt::dns=error",
  "awscrt::http-connection=error",
  "awscrt::tls-handler=warn",
].join(",");

/** The variable beats these options, so whoever gives one of them does without. */
const choosesWhatIsLogged = /^(--debug|-d|--debug-crt|--log-metrics|--no-log)$/;

/** For the environment of a mount-s3 with these arguments. */
export function logEnvironment(args: readonly string[]): Readonly<Record<string, string>> {
  return args.some((argument) => choosesWhatIsLogged.test(argument)) ? {} : { MOUNTPOINT_LOG: filter };
}

export interface Trouble {
  /** In the words of mount-s3: one line, of a length that an event can show. */
  readonly words: string;
  readonly fix: string;
}

const failure = /^\S+ +(?:WARN|ERROR) (?:\S+ )?awscrt::(?:dns|http-connection|tls-handler): (?:static|id=\w+): (.+)$/gm;
/** Where in its sources; of no use to anybody here. */
const place = / \(Error encountered in [^)]*\)/g;
const limit = 512;

/** What keeps it from reaching the object store, by the end of its log: the last two things that differ. */
export function troubleIn(log: string): Trouble | undefined {
  const said = [...log.matchAll(failure)].map(([, text = ""]) => text.replaceAll(place, "").trim());
  const last = [...new Set(said.toReversed())].slice(0, 2).toReversed();
  if (last.length === 0) return undefined;
  const words = last.join("; ").slice(0, limit);
  return { words, fix: fixOf(words) };
}

function fixOf(words: string): string {
  return /certificate/i.test(words)
    ? "Have the authority of the endpoint's certificate trusted (chart values tls.caCertConfigMap and tls.caCertData)."
    : "Check that Mountpoint Pods reach the endpoint (chart values s3.endpointUrl and mountpointPod.proxy).";
}
