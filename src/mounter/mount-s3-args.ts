import type { MountRequest } from "../core/volume/mount-request.ts";

/** What only the Mountpoint Pod knows. */
export interface Surroundings {
  /** Number of the FUSE descriptor. */
  readonly device: number;
  /** MiB; undefined: mount-s3 decides. */
  readonly memoryTarget: string | undefined;
  /** A directory that exists in this container. */
  readonly cacheDirectory: () => string;
}

/**
 * Arguments of mount-s3 for a request. Users write any path as the value of `--cache`; it is replaced by a directory that exists in
 * this container. The node plugin renders options as `--name=value`, and mount-s3 refuses repeated options.
 */
export function mountS3Args(request: MountRequest, here: Surroundings): readonly string[] {
  const others = request.args.filter((argument) => !is("--cache", argument));
  const cache = request.args.some((argument) => is("--cache", argument)) ? [`--cache=${here.cacheDirectory()}`] : [];
  const chosen = here.memoryTarget === undefined || others.some((argument) => is("--memory-target", argument));
  const memory = chosen ? [] : [`--memory-target=${here.memoryTarget}`];
  return [request.bucketName, `/dev/fd/${here.device}`, ...cache, ...others, ...memory, "--foreground"];
}

function is(option: string, argument: string): boolean {
  return argument === option || argument.startsWith(`${option}=`);
}
