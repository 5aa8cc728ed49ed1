/** Everything that is wrong with flags and environment, so that it can be told at once. */
export class Problems {
  readonly #found: string[] = [];

  add(problem: string): void {
    this.#found.push(problem);
  }

  required(value: string | undefined, problem: string): string {
    const text = value?.trim() ?? "";
    if (text === "") this.add(problem);
    return text;
  }

  number(name: string, text: string, max: number): number {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value > max) this.add(`${name} is not a number from 0 to ${max}: ${text}`);
    return value;
  }

  unless<Value>(read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      this.add(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  throwIfAny(): void {
    if (this.#found.length > 0) throw new Error(this.#found.join("; "));
  }
}
