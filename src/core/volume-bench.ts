/** What `kubectl s3 bench` asks of the program in its Pod, and what that program prints. */

/** The program of the image that the Pod of `kubectl s3 bench` runs. */
export const volumeBenchCommand = "/bin/scality-s3-csi-volume-bench";

/** Of each small file. */
export const smallFileBytes = 4096;

export interface BenchPlan {
  /** Where the volume is mounted in the Pod. */
  readonly mountPath: string;
  /** Name of the directory in the volume that is written and removed. Absent: only existing files are read. */
  readonly directory?: string;
  /** Of the large file. */
  readonly sizeBytes: number;
  /** Number of small files. */
  readonly files: number;
}

/** One kind of operation, performed one after the other. */
export interface Measurement {
  readonly name: "write" | "read" | "write small files" | "read small files" | "list" | "delete";
  readonly operations: number;
  readonly bytes: number;
  readonly seconds: number;
  /** Of one operation. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly max: number };
}

/** Files that the program wrote and could not remove. */
export interface FilesLeft {
  readonly count: number;
  /** Of the first few, in the volume. */
  readonly paths: readonly string[];
}

export const noFilesLeft: FilesLeft = { count: 0, paths: [] };

export interface BenchResult {
  readonly measurements: readonly Measurement[];
  readonly filesLeft: FilesLeft;
}

/** One line of the program's output: what it does now, and at last the result or the reason why there is none. */
export type BenchLine =
  | { readonly step: Measurement["name"] | "remove" }
  | { readonly result: BenchResult }
  | { readonly problem: string; readonly filesLeft: FilesLeft };

const field = "volumeBench";

export function benchLine(line: BenchLine): string {
  return `${JSON.stringify({ [field]: line })}\n`;
}

/** Undefined: the line is not one of the program's. */
export function parseBenchLine(text: string): BenchLine | undefined {
  if (!text.startsWith(`{"${field}":`)) return undefined;
  return (JSON.parse(text) as Record<string, BenchLine>)[field];
}
