/** A failure the person at the keyboard can mend: shown as one sentence and what to do, never as a stack trace. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly fix: string;

  constructor(message: string, fix: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.fix = fix;
  }
}
