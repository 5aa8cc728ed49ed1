/** Container images of the lab, built with buildah and kept as archives that a node can import. */
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheDirectory, cached, keyOf } from "./cache.ts";
import { pauseImage } from "./node-setup.ts";
import type { Parts } from "./parts.ts";
import type { Progress } from "./progress.ts";
import { type RunOptions, run } from "./run.ts";

const here = dirname(fileURLToPath(import.meta.url));
export const checkout = dirname(here);

const baseImage = "docker.io/library/debian:bookworm-slim";
const busyboxImage = "docker.io/library/busybox:1.37";
const provisionerImage = "ghcr.io/scality/mountpoint-s3-csi-driver/csi-provisioner:v5.3.0";

/** Archives of everything a node needs besides the driver. */
export async function supportImages(signal: AbortSignal, parts: Parts, progress: Progress): Promise<readonly string[]> {
  const busybox = "/bin/busybox";
  return [
    await smallImage(signal, progress, { name: "pause", image: pauseImage, file: busybox }),
    await smallImage(signal, progress, { name: "busybox", image: busyboxImage, file: busybox }),
    await smallImage(signal, progress, {
      name: "csi-provisioner",
      image: provisionerImage,
      file: join(parts.kubernetes, "csi-provisioner"),
    }),
  ];
}

interface SmallImage {
  /** Folder below images/ with its Dockerfile. */
  readonly name: string;
  readonly image: string;
  /** The one program in it. */
  readonly file: string;
}

async function smallImage(signal: AbortSignal, progress: Progress, { name, image, file }: SmallImage): Promise<string> {
  const recipe = join(here, "images", name);
  const directory = await cached(signal, {
    name: `image-${name}`,
    key: await keyOf([recipe, file], [image]),
    build: (into) =>
      progress.task(`make the ${name} image`, async () => {
        const context = await mkdtemp(join(tmpdir(), "s3-csi-image-"));
        try {
          await cp(file, join(context, file.split("/").at(-1) ?? name));
          await cp(join(recipe, "Dockerfile"), join(context, "Dockerfile"));
          await buildImage({ signal, cwd: context }, image, [], join(into, "image.tar"));
        } finally {
          await rm(context, { recursive: true, force: true });
        }
      }),
  });
  return join(directory, "image.tar");
}

export interface DriverImage {
  readonly image: string;
  readonly archive: string;
}

/** The driver image from the project's Dockerfile, rebuilt when anything in it changed. Needs the base image. */
export async function driverImage(signal: AbortSignal, parts: Parts, progress: Progress): Promise<DriverImage> {
  const manifest = JSON.parse(await readFile(join(checkout, "package.json"), "utf8")) as { version: string };
  const image = `ghcr.io/scality/mountpoint-s3-csi-driver:v${manifest.version}`;
  await run(["npm", "run", "--silent", "native"], { signal, cwd: checkout });
  await run(["npm", "run", "--silent", "bundle"], { signal, cwd: checkout });
  const directory = await cached(signal, {
    name: "image-driver",
    key: await keyOf(
      [join(checkout, "Dockerfile"), join(checkout, "scripts"), join(checkout, "dist"), parts.mountS3],
      [image],
    ),
    build: (into) =>
      progress.task("build the driver image", async () => {
        const given = join(checkout, "dist", "mount-s3");
        await cp(parts.mountS3, given);
        const args = ["--build-arg", "MOUNT_S3=dist/mount-s3", "--build-arg", "MOUNT_S3_VERSION=1.24.0"];
        await buildImage({ signal, cwd: checkout }, image, args, join(into, "image.tar"));
      }),
  });
  return { image, archive: join(directory, "image.tar") };
}

/** Made from Debian packages where no image registry is in reach; buildah keeps it under the name the Dockerfile asks for. */
export async function ensureBaseImage(signal: AbortSignal, progress: Progress): Promise<void> {
  const script = join(here, "debian.sh");
  await cached(signal, {
    name: "image-base",
    key: await keyOf([script], [baseImage]),
    build: (into) =>
      progress.task("make the Debian base image", async () => {
        const archive = join(into, "root.tar");
        await run(["sh", script, archive], { signal });
        const container = (await buildah({ signal }, ["from", "scratch"])).trim();
        await buildah({ signal }, ["add", "--quiet", container, archive, "/"]);
        await buildah({ signal }, ["commit", "--quiet", "--rm", container, baseImage]);
        await rm(archive);
      }),
  });
}

async function buildImage(options: RunOptions, image: string, args: readonly string[], archive: string): Promise<void> {
  await buildah(options, ["build", "--layers", "--pull-never", "--tag", image, ...args, "."]);
  await buildah(options, ["push", "--quiet", image, `docker-archive:${archive}:${image}`]);
}

/** chroot isolation needs no runtime of its own; storage lies in the cache, away from any other user of buildah. */
function buildah(options: RunOptions, [command, ...args]: readonly string[]): Promise<string> {
  const storage = join(cacheDirectory(), "buildah");
  const global = ["--root", join(storage, "root"), "--runroot", join(storage, "run"), "--storage-driver", "overlay"];
  const isolation = command === "build" ? ["--isolation", "chroot"] : [];
  return run(["buildah", ...global, command ?? "", ...isolation, ...args], options);
}
