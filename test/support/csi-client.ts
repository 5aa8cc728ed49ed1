import { type ChannelOptions, Client, credentials, type MethodDefinition, type ServiceDefinition } from "@grpc/grpc-js";

interface CallOptions {
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

type Calls<Definition> = {
  readonly [Name in keyof Definition]: Definition[Name] extends MethodDefinition<infer Request, infer Response>
    ? (request: Request, options?: CallOptions) => Promise<Response>
    : never;
};

/** What kubelet is to the driver: a gRPC client of one service. A failed call rejects with grpc-js's ServiceError. */
export function csiClient<Definition extends ServiceDefinition>(
  definition: Definition,
  target: string,
  channel: ChannelOptions = {},
): Calls<Definition> & Disposable {
  // Each client its own connection: grpc-js otherwise shares one between clients of the same target.
  const options = { "grpc.use_local_subchannel_pool": 1, ...channel };
  const client = new Client(target, credentials.createInsecure(), options);
  const calls = Object.entries(definition).map(([name, method]) => [name, caller(client, method)]);
  return Object.assign(Object.fromEntries(calls) as Calls<Definition>, {
    [Symbol.dispose]: () => client.close(),
  });
}

function caller(client: Client, method: MethodDefinition<unknown, unknown>) {
  return (request: unknown, { deadlineMs, signal }: CallOptions = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const { path, requestSerialize, responseDeserialize } = method;
    const options = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
    const rpc = client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      options,
      (error, response) => {
        if (error === null) resolve(response);
        else reject(error);
      },
    );
    signal?.addEventListener("abort", () => rpc.cancel());
    return promise;
  };
}
