/** Cuts a stream of bytes into lines, wherever its chunks begin and end. */
export class LineSplitter {
  readonly #limitBytes: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /**
   * The lines that this chunk completes. Throws if a line is longer than the limit. Bytes are decoded when a line is complete: no
   * byte of a UTF-8 sequence equals a line feed, so characters are never split.
   */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      this.#hold(chunk.subarray(start, end));
      yield this.#take();
      start = end + 1;
    }
    this.#hold(chunk.subarray(start));
  }

  #hold(part: Buffer): void {
    this.#pendingBytes += part.length;
    if (this.#pendingBytes > this.#limitBytes) throw new Error(`a line is longer than ${this.#limitBytes} bytes`);
    if (part.length > 0) this.#pending.push(part);
  }

  #take(): string {
    const line = Buffer.concat(this.#pending, this.#pendingBytes).toString("utf8");
    this.#pending = [];
    this.#pendingBytes = 0;
    return line;
  }
}

const lineFeed = 0x0a;
