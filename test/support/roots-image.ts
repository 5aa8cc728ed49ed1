/** An image with a shell whose system trusts one authority: what a public one is to the world, this one is to the test. */
import { createHash, randomBytes } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { run } from "../../lab/run.ts";
import type { Cluster } from "./cluster.ts";

export interface RootsImage extends AsyncDisposable {
  readonly repository: string;
  readonly tag: string;
}

/** On every node, until the end of the scope. */
export async function rootsImage({ lab }: Cluster, authority: string): Promise<RootsImage> {
  const signal = AbortSignal.timeout(120_000);
  const [repository, tag] = ["test.local/roots", randomBytes(4).toString("hex")];
  const directory = await mkdtemp(join(tmpdir(), "roots-image-"));
  try {
    const root = join(directory, "root");
    const roots = join(root, "etc/ssl/certs/ca-certificates.crt");
    for (const each of [dirname(roots), join(root, "bin")]) await mkdir(each, { recursive: true });
    await writeFile(roots, authority);
    await cp("/bin/busybox", join(root, "bin/busybox"));
    for (const name of ["sh", "cat"]) await symlink("busybox", join(root, "bin", name));
    await run(["tar", "-C", root, "--owner=0", "--group=0", "-cf", join(directory, "layer.tar"), "bin", "etc"], {
      signal,
    });
    const archive = await archiveOf(signal, directory, `${repository}:${tag}`);
    await lab.load(signal, archive);
  } finally {
    await rm(directory, { recursive: true });
  }
  const remove = ["ctr", "--namespace=k8s.io", "images", "rm", `${repository}:${tag}`];
  return {
    repository,
    tag,
    [Symbol.asyncDispose]: async () => {
      for (const node of lab.nodes) await node.exec(remove, { signal: AbortSignal.timeout(60_000) });
    },
  };
}

/** In the form of `docker save`. */
async function archiveOf(signal: AbortSignal, directory: string, image: string): Promise<string> {
  const layer = await readFile(join(directory, "layer.tar"));
  const config = {
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    config: { Env: ["PATH=/bin"] },
    rootfs: { type: "layers", diff_ids: [`sha256:${createHash("sha256").update(layer).digest("hex")}`] },
  };
  const manifest = [{ Config: "config.json", RepoTags: [image], Layers: ["layer.tar"] }];
  await writeFile(join(directory, "config.json"), JSON.stringify(config));
  await writeFile(join(directory, "manifest.json"), JSON.stringify(manifest));
  const archive = join(directory, "image.tar");
  await run(["tar", "-C", directory, "-cf", archive, "manifest.json", "config.json", "layer.tar"], { signal });
  return archive;
}
