/** A way to the API server that can be shut, for one client alone: everybody else goes on. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Credentials } from "../../src/kube/client/credentials.ts";

export class Gate implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #open = true;

  private constructor(target: URL) {
    this.#server = createServer((socket) => {
      if (!this.#open) {
        socket.destroy();
        return;
      }
      const far = connect(Number(target.port), target.hostname);
      for (const [from, to] of [
        [socket, far],
        [far, socket],
      ] as const) {
        this.#sockets.add(from);
        from.on("error", () => to.destroy()).on("close", () => this.#sockets.delete(from) && to.destroy());
        from.pipe(to);
      }
    });
  }

  static async to(target: URL): Promise<Gate> {
    const gate = new Gate(target);
    gate.#server.listen(0, "127.0.0.1");
    await once(gate.#server, "listening");
    return gate;
  }

  /** The same login, through the gate. */
  through(credentials: Credentials): Credentials {
    const { port } = this.#server.address() as AddressInfo;
    return { ...credentials, server: new URL(`https://127.0.0.1:${port}`) };
  }

  /** Cuts what is connected and refuses what comes. */
  shut(): void {
    this.#open = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  open(): void {
    this.#open = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.shut();
    this.#server.close();
    await once(this.#server, "close");
  }
}
