/** ID-3. What a refusal of STS means: which party refused, and what to change. Stores have different codes for one cause, and texts that tell. */
import { DriverError, type ErrorKind } from "../../core/errors.ts";
import type { StoreName, StsSettings } from "../../core/stores/store.ts";

/** What was asked for. Nothing here is secret. */
export interface Asked {
  readonly store: StoreName;
  readonly sts: StsSettings;
  /** Of the token, as Kubernetes writes it: `system:serviceaccount:NAMESPACE:NAME`. */
  readonly subject: string;
  readonly issuer: string | undefined;
  readonly role: string | undefined;
  /** Where a role can be named; undefined: on the PersistentVolume, the StorageClass and the service account. */
  readonly roleSetting?: string | undefined;
}

const usualRoleSetting =
  "roleArn of the PersistentVolume or StorageClass, annotation s3.csi.scality.com/role-arn of the service account";

export interface StsRefusal {
  readonly httpStatus: number;
  /** undefined: the answer is not from STS. */
  readonly code: string | undefined;
  readonly message: string;
  /** How far the clock of STS is ahead of ours; undefined: it did not say. */
  readonly clockAheadMs: number | undefined;
}

/** A session that is to be renewed is not given up for a `notReady`: it passes. */
export function stsError(asked: Asked, refusal: StsRefusal): DriverError {
  const { httpStatus, code, message } = refusal;
  const said =
    code === undefined ? `HTTP ${httpStatus}, and not in the words of STS` : `${code}${message && `: ${message}`}`;
  const cause = causeOf(refusal);
  const { kind, fix } = causes[cause];
  const text = `STS of store ${asked.store} (${asked.sts.endpointUrl}) refused the token of ${asked.subject}: ${said.slice(0, 500)}`;
  return new DriverError(kind, text, { hint: fix(asked, refusal) });
}

type Cause = "unavailable" | "foreign" | "clock" | "audience" | "issuer" | "duration" | "policy" | "role" | "other";

/** Beyond this difference a token or a request looks too old or too new. */
const skewMs = 5 * 60_000;

/** In this order: a text about the audience of a role is about the audience. */
const texts: readonly (readonly [Cause, RegExp])[] = [
  ["clock", /RequestTimeTooSkewed|RequestExpired/i],
  ["audience", /\baud(?:ience)?\b|client id/i],
  ["duration", /duration/i],
  [
    "issuer",
    /openidconnect|openid provider|identity provider|\bissuer\b|\biss\b|jwks|signature|key ?id|\bkid\b|verif|IDPCommunication/i,
  ],
  ["clock", /expired|not valid yet|used before|\bnbf\b|\bexp\b/i],
  ["policy", /polic(?:y|ies)|credentials will not be generated/i],
  ["role", /role|AccessDenied|not authorized/i],
];

function causeOf({ httpStatus, code, message, clockAheadMs = 0 }: StsRefusal): Cause {
  if (isBusy(httpStatus, code)) return "unavailable";
  if (code === undefined) return "foreign";
  const found = texts.find(([, pattern]) => pattern.test(`${code} ${message}`))?.[0] ?? "other";
  const isCertain = found === "audience" || found === "duration";
  return !isCertain && Math.abs(clockAheadMs) > skewMs ? "clock" : found;
}

function isBusy(httpStatus: number, code = ""): boolean {
  const saysSo = /NotInitialized|Throttl|SlowDown|ServiceUnavailable|InternalError/i.test(code);
  return saysSo || httpStatus >= 500 || httpStatus === 429;
}

interface Explained {
  readonly kind: ErrorKind;
  readonly fix: (asked: Asked, refusal: StsRefusal) => string;
}

const causes: Readonly<Record<Cause, Explained>> = {
  unavailable: {
    kind: "notReady",
    fix: () => "Check that STS works; the call is repeated.",
  },
  foreign: {
    kind: "notReady",
    fix: ({ store }) => `Check that ${valueOf(store)}.endpointUrl leads to STS itself; the call is repeated.`,
  },
  clock: {
    kind: "unauthenticated",
    fix: (_, { clockAheadMs = 0 }) =>
      Math.abs(clockAheadMs) > skewMs
        ? `The clock of STS differs by ${Math.round(Math.abs(clockAheadMs) / 1000)} s from that of this node: correct the clock that is wrong (NTP).`
        : "Check the clocks of STS, of the API server and of this node (NTP): the token has ended, or is not valid yet, for STS.",
  },
  audience: {
    kind: "unauthenticated",
    fix: ({ store, sts }) =>
      `The token has the audience ${sts.audience}: configure it at STS as client id, or set the chart value ${valueOf(store)}.audience to the one that STS expects.`,
  },
  issuer: {
    kind: "unauthenticated",
    fix: ({ issuer }) =>
      `Register the issuer of this cluster, ${issuer ?? "(unknown)"}, at STS as an OpenID Connect provider, and let STS read its /.well-known/openid-configuration and keys.`,
  },
  duration: {
    kind: "invalid",
    fix: ({ store, sts }) =>
      `Set the chart value ${valueOf(store)}.durationSeconds, now ${sts.sessionSeconds}, to what STS and the role allow.`,
  },
  policy: {
    kind: "denied",
    fix: ({ subject }) =>
      `Give the account rights at the store: with MinIO by claim, a policy with the name ${subject}.`,
  },
  role: {
    kind: "denied",
    fix: ({ role, roleSetting = usualRoleSetting, subject }) =>
      role === undefined
        ? `Name a role (${roleSetting}), if this STS needs one.`
        : `Check that the role ${role} exists, and that its trust policy allows ${subject}.`,
  },
  other: {
    kind: "denied",
    fix: ({ subject, role }) =>
      `Check at STS what ${subject}${role === undefined ? "" : ` with the role ${role}`} may do.`,
  },
};

function valueOf(store: StoreName): string {
  return store === "default" ? "s3.sts" : `s3.stores.${store}.sts`;
}
