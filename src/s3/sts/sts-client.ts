/**
 * Exchanges service account tokens for temporary credentials (ID-1): one POST request for each. Tokens go to the STS endpoints of the
 * installation's stores only: no volume and no account names an endpoint.
 */
import { type AgentOptions, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { createSecureContext } from "node:tls";
import { DriverError } from "../../core/errors.ts";
import type { Store, StsSettings } from "../../core/stores/store.ts";
import type { Proxy } from "../../core/volume/proxy.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import { isErrno } from "../../runtime/errno.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import type { Secret } from "../../runtime/secret.ts";
import type { Credentials } from "../credentials.ts";
import { certificateErrors } from "../error.ts";
import { maskedToken } from "../masked.ts";
import { trustedWith } from "../trust.ts";
import { refusalIn, type SessionAnswer, sessionIn } from "./answer.ts";
import { type StsRefusal, stsError } from "./refusal.ts";
import { claimsOf } from "./web-identity-token.ts";

export interface StsClientSettings {
  readonly proxy: Proxy;
  /** Where STS and its store name no certificates of their own; undefined: the roots of Node. */
  readonly trusted: readonly string[] | undefined;
  readonly userAgent: string;
  /** How long an answer may take; absent: 10 s. */
  readonly answerMs?: number;
}

/** What a token is exchanged for. */
export interface SessionRequest {
  readonly store: Store;
  readonly token: Secret;
  readonly role: string | undefined;
  /** Shown in the log of the store. */
  readonly sessionName: string;
  /** Where a role can be named, for messages; absent: on the PersistentVolume, the StorageClass and the service account. */
  readonly roleSetting?: string;
}

export interface TemporaryCredentials {
  readonly credentials: Credentials;
  /** How long they last from the answer on. Clocks may differ, so this is what STS counts. */
  readonly lifeMs: number;
}

const answerMs = 10_000;
/** Answers have two to eight KiB: session tokens carry the policies of the account in some stores. */
const answerBytes = 256 * 1024;

export class StsClient implements Disposable {
  readonly #settings: StsClientSettings;
  readonly #agents = new Map<StsSettings, HttpAgent | HttpsAgent>();

  constructor(settings: StsClientSettings) {
    this.#settings = settings;
  }

  /** Rejects with a DriverError that names the party that refused and the fix. The store must have STS. */
  async session(call: Call, wanted: SessionRequest): Promise<TemporaryCredentials> {
    const { store, token, role, roleSetting } = wanted;
    const { sts } = store;
    if (sts === undefined) throw new Error(`store ${store.name} has no STS`);
    const { subject = "(no subject)", issuer } = claimsOf(token);
    const { answer, text } = await this.#post(call, store, sts, form(wanted, sts));
    const session = answer.statusCode === 200 ? sessionIn(text) : undefined;
    if (session !== undefined) return { credentials: session.credentials, lifeMs: lifeMs(session, answer, sts) };
    const asked = { store: store.name, sts, subject, issuer, role, roleSetting };
    throw stsError(asked, refusalOf(answer, text, token));
  }

  [Symbol.dispose](): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }

  async #post(call: Call, store: Store, sts: StsSettings, body: string): Promise<Answered> {
    using limited = deadline(call, this.#settings.answerMs ?? answerMs, "an answer of STS");
    try {
      // Node ends no request whose proxy has not answered its CONNECT: such a request has no connection yet.
      return await orAborted(limited, this.#exchange(limited, store, sts, body));
    } catch (error) {
      if (call.signal.aborted) throw call.signal.reason;
      throw unreachable(store, sts, error);
    }
  }

  async #exchange({ signal }: Call, store: Store, sts: StsSettings, body: string): Promise<Answered> {
    const url = new URL(sts.endpointUrl);
    const headers = {
      "content-type": "application/x-www-form-urlencoded",
      "content-length": Buffer.byteLength(body),
      accept: "application/xml",
      "user-agent": this.#settings.userAgent,
    };
    const options = { method: "POST", headers, agent: this.#agentFor(store, sts), signal };
    const { promise, resolve, reject } = Promise.withResolvers<Answered>();
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const request = send(url, options, (answer) => {
      textOf(answer).then((text) => resolve({ answer, text }), reject);
    });
    request.on("error", reject);
    request.end(body);
    return await promise;
  }

  #agentFor(store: Store, sts: StsSettings): HttpAgent | HttpsAgent {
    const known = this.#agents.get(sts);
    if (known !== undefined) return known;
    // Node's agents support proxies; @types/node does not declare that yet.
    const { proxy: proxyEnv, answerMs: timeout = answerMs } = this.#settings;
    const options = { proxyEnv, timeout } as AgentOptions;
    const ca = trustedWith(sts.caCertificates ?? store.caCertificates) ?? this.#settings.trusted;
    // Parsing the public roots takes 50 ms, which Node would do for every connection.
    const agent = sts.endpointUrl.startsWith("https:")
      ? new HttpsAgent({ ...options, ...(ca && { secureContext: createSecureContext({ ca: [...ca] }) }) })
      : new HttpAgent(options);
    this.#agents.set(sts, agent);
    return agent;
  }
}

interface Answered {
  readonly answer: IncomingMessage;
  readonly text: string;
}

/** By the clock of STS alone: ours may differ from it. If the answer does not tell, or its times contradict each other, what was asked for. */
function lifeMs({ endsAt }: SessionAnswer, { headers }: IncomingMessage, { sessionSeconds }: StsSettings): number {
  const counted = endsAt.getTime() - sentAtMs(headers);
  return counted > 0 ? counted : 1000 * sessionSeconds;
}

/** Some servers quote in a refusal what they were sent, and the refusal becomes an event. */
function refusalOf({ statusCode = 0, headers }: IncomingMessage, text: string, token: Secret): StsRefusal {
  const { code, message = "" } = refusalIn(text) ?? {};
  const masked = maskedToken(token);
  const clockAheadMs = sentAtMs(headers) - Date.now();
  return {
    httpStatus: statusCode,
    code: code && masked(code),
    message: masked(message),
    clockAheadMs: Number.isNaN(clockAheadMs) ? undefined : clockAheadMs,
  };
}

/** NaN: the answer does not say. */
function sentAtMs({ date }: IncomingMessage["headers"]): number {
  return new Date(date ?? Number.NaN).getTime();
}

function form({ token, role, sessionName }: SessionRequest, { sessionSeconds }: StsSettings): string {
  return new URLSearchParams({
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    WebIdentityToken: token.reveal(),
    DurationSeconds: String(sessionSeconds),
    // AWS allows 2 to 64 of these characters.
    RoleSessionName: sessionName.replaceAll(/[^\w+=,.@-]/g, "-").slice(0, 64),
    ...(role !== undefined && { RoleArn: role }),
  }).toString();
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > answerBytes) throw new Error(`the answer has more than ${answerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function unreachable(store: Store, { endpointUrl }: StsSettings, error: unknown): DriverError {
  const value = store.name === "default" ? "s3" : `s3.stores.${store.name}`;
  const what = `STS of store ${store.name} (${endpointUrl}) does not answer`;
  const why = error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error);
  const hint = isErrno(error, ...certificateErrors)
    ? `The certificate of STS is not trusted: put its authority into the chart value ${value}.sts.caCertData.`
    : `Check that nodes reach the chart value ${value}.sts.endpointUrl; the call is repeated.`;
  return new DriverError("notReady", `${what}: ${why}`, { cause: error, hint });
}
