import type { MountRequest } from "../core/mount-request.ts";

/**
 * Arguments of mount-s3 for a request. The value of `--cache` is the user's idea of a path; what counts is a directory
 * that exists here, so it is replaced. The node renders options as `--name=value`, and mount-s3 refuses repetitions.
 */
export function mountS3Args(request: MountRequest, device: number, cacheDirectory: () => string): readonly string[] {
  const others = request.args.filter((argument) => !isCache(argument));
  const cache = request.args.some(isCache) ? [`--cache=${cacheDirectory()}`] : [];
  return [request.bucketName, `/dev/fd/${device}`, ...cache, ...others, "--foreground"];
}

function isCache(argument: string): boolean {
  return argument === "--cache" || argument.startsWith("--cache=");
}
