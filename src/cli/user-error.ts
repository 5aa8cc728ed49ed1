/** Something that the user of the command can change. */
export class UserError extends Error {
  override readonly name = "UserError";
  readonly fix: string;

  constructor(message: string, fix: string) {
    super(message);
    this.fix = fix;
  }
}
