/** An object store in memory: buckets with keys and tags. */
import { DriverError } from "../core/errors.ts";
import type { Buckets } from "./buckets.ts";
import type { Tags } from "./domain/bucket-tags.ts";

export class MemoryBuckets implements Buckets {
  readonly all = new Map<string, { readonly keys: Set<string>; tags: Tags }>();

  async create(_call: unknown, bucket: string): Promise<"made" | "existed"> {
    if (this.all.has(bucket)) return "existed";
    this.all.set(bucket, { keys: new Set(), tags: {} });
    return "made";
  }

  async exists(_call: unknown, bucket: string): Promise<boolean> {
    return this.all.has(bucket);
  }

  async *names(): AsyncGenerator<string> {
    yield* this.all.keys();
  }

  async tags(_call: unknown, bucket: string) {
    return { kind: "read", tags: this.#get(bucket).tags } as const;
  }

  async setTags(_call: unknown, bucket: string, tags: Tags) {
    this.#get(bucket).tags = tags;
    return { kind: "written" } as const;
  }

  async deleteIfEmpty(_call: unknown, bucket: string): Promise<"gone" | "notEmpty"> {
    if ((this.all.get(bucket)?.keys.size ?? 0) > 0) return "notEmpty";
    this.all.delete(bucket);
    return "gone";
  }

  async holdsData(_call: unknown, bucket: string, prefix = ""): Promise<boolean> {
    return [...this.#get(bucket).keys].some((key) => key.startsWith(prefix));
  }

  async empty(_call: unknown, bucket: string, prefix = ""): Promise<void> {
    const { keys } = this.#get(bucket);
    for (const key of keys) if (key.startsWith(prefix)) keys.delete(key);
  }

  /** Makes the bucket if there is none. */
  put(bucket: string, ...keys: readonly string[]): void {
    const found = this.all.get(bucket) ?? { keys: new Set(), tags: {} };
    this.all.set(bucket, found);
    for (const key of keys) found.keys.add(key);
  }

  keysIn(bucket: string): readonly string[] | undefined {
    const found = this.all.get(bucket);
    return found && [...found.keys];
  }

  #get(bucket: string) {
    const found = this.all.get(bucket);
    if (found === undefined) throw new DriverError("missing", `bucket ${bucket} does not exist`);
    return found;
  }
}
