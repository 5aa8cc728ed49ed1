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

export interface ConnectionProblem {
  /** In the message of mount-s3: one line, of a length that an event can show. */
  readonly message: string;
  readonly fix: string;
}

const failure = /^\S+ +(?:WARN|ERROR) (?:\S+ )?awscrt::(?:dns|http-connection|tls-handler): (?:static|id=\w+): (.+)$/gm;
/** Where in its sources; of no use to anybody here. */
const sourceLocation = / \(Error encountered in [^)]*\)/g;
const limit = 512;

/** What keeps it from reaching the object store, by the end of its log: the last two things that differ. */
export function findConnectionProblem(log: string): ConnectionProblem | undefined {
  const said = [...log.matchAll(failure)].map(([, text = ""]) => text.replaceAll(sourceLocation, "").trim());
  const last = [...new Set(said.toReversed())].slice(0, 2).toReversed();
  if (last.length === 0) return undefined;
  const message = last.join("; ").slice(0, limit);
  return { message, fix: fixOf(message) };
}

function fixOf(message: string): string {
  return /certificate/i.test(message)
    ? "Have the authority of the endpoint's certificate trusted (chart values tls.caCertConfigMap and tls.caCertData)."
    : "Check that Mountpoint Pods reach the endpoint (chart values s3.endpointUrl and mountpointPod.proxy).";
}
