/** Makes mount-s3 log why it cannot connect to the object store, and finds the reason in its log. */

/**
 * By default mount-s3 logs no failed connection until it gives up, which takes minutes: it makes ten attempts, and its TLS
 * library delays each refused one by up to half a minute. The filter adds the three components of the AWS CRT in which
 * connections fail to the defaults of mount-s3.
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

/** MOUNTPOINT_LOG overrides these options, so a volume with one of them gets no filter. */
const choosesWhatIsLogged = /^(--debug|-d|--debug-crt|--log-metrics|--no-log)$/;

/** Environment variables for a mount-s3 with these arguments. */
export function logEnvironment(args: readonly string[]): Readonly<Record<string, string>> {
  return args.some((argument) => choosesWhatIsLogged.test(argument)) ? {} : { MOUNTPOINT_LOG: filter };
}

export interface ConnectionProblem {
  /** The text of mount-s3, as one line that fits into an event. */
  readonly message: string;
  readonly fix: string;
}

const failure = /^\S+ +(?:WARN|ERROR) (?:\S+ )?awscrt::(?:dns|http-connection|tls-handler): (?:static|id=\w+): (.+)$/gm;
/** mount-s3 appends the location in its source code, which does not help an operator. */
const sourceLocation = / \(Error encountered in [^)]*\)/g;
const limit = 512;

/** The last two distinct connection failures in a log; undefined if there is none. */
export function findConnectionProblem(log: string): ConnectionProblem | undefined {
  const failures = [...log.matchAll(failure)].map(([, text = ""]) => text.replaceAll(sourceLocation, "").trim());
  const last = [...new Set(failures.toReversed())].slice(0, 2).toReversed();
  if (last.length === 0) return undefined;
  const message = last.join("; ").slice(0, limit);
  return { message, fix: fixOf(message) };
}

function fixOf(message: string): string {
  return /certificate/i.test(message)
    ? "Have the authority of the endpoint's certificate trusted (chart values tls.caCertConfigMap and tls.caCertData; s3.stores.NAME.caCertData of a named store)."
    : "Check that Mountpoint Pods reach the endpoint (chart values s3.endpointUrl and mountpointPod.proxy).";
}
