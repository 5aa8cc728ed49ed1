/** `./dev test long` runs at full size what the plain run scales down. */
export function scaled(sizes: { readonly plain: number; readonly full: number }): number {
  return process.env["TEST_SCALE"] === "full" ? sizes.full : sizes.plain;
}
