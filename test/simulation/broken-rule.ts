export class BrokenRule extends Error {
  override readonly name = "BrokenRule";
}
