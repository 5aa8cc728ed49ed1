/** The commands of `kubectl s3`, their options and help. */
import { Command, Option } from "commander";
import { buildTopology } from "../topology/build-topology.ts";
import type { Topology } from "../topology/topology.ts";
import type { ApiServer } from "./api/api-server.ts";
import { type Login, logIn } from "./api/login.ts";
import type { BenchOptions } from "./bench/bench-request.ts";
import { readCluster, type Scope } from "./cluster/read-cluster.ts";
import { benchCommand } from "./commands/bench.ts";
import { describeCommand } from "./commands/describe.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { eventsCommand } from "./commands/events.ts";
import { listText } from "./commands/list.ts";
import { logsCommand } from "./commands/logs.ts";
import { type MoveOptions, moveCommand } from "./commands/move.ts";
import { supportBundleCommand } from "./commands/support-bundle.ts";
import { treeText } from "./commands/tree.ts";
import { watchCommand } from "./commands/watch.ts";
import { completions } from "./completion.ts";
import { type Format, formats, formatted } from "./output/format.ts";
import type { Terminal } from "./output/terminal.ts";
import { uiCommand } from "./ui/ui.ts";

/** Options that every command has, in the words of kubectl. */
export interface GlobalOptions extends Login, Scope {
  readonly output: Format;
}

/** What a command works with. */
export interface Session {
  readonly signal: AbortSignal;
  readonly api: ApiServer;
  readonly terminal: Terminal;
  readonly options: GlobalOptions;
}

export interface ProgramParts {
  readonly signal: AbortSignal;
  readonly terminal: Terminal;
  readonly version: string;
}

/** The exit code for scripts: a command sets it through `finish`. */
export type Finish = (code: number) => void;

export function kubectlS3({ signal, terminal, version }: ProgramParts, finish: Finish): Command {
  const program = new Command("kubectl s3")
    .description("Shows and explains the volumes of the Scality CSI driver for S3.")
    .version(version)
    .option("--kubeconfig <file>", "kubeconfig file; default: KUBECONFIG, then ~/.kube/config")
    .option("--context <name>", "context of the kubeconfig")
    .option("-n, --namespace <name>", "only claims and Pods of this namespace; default: all namespaces")
    .option("--driver-namespace <name>", "namespace of the driver; default: where the DaemonSet s3-csi-node is")
    .addOption(new Option("-o, --output <format>", "form of the answer").choices([...formats]).default("table"))
    .configureOutput({ writeOut: terminal.print, writeErr: terminal.printError })
    .showHelpAfterError()
    .exitOverride();
  const session = (): Session => {
    const options = program.opts<GlobalOptions>();
    return { signal, terminal, options, api: logIn(options) };
  };
  const command = (name: string, description: string, run: (session: Session, ...args: string[]) => Promise<void>) =>
    program
      .command(name)
      .description(description)
      .action(async (...args: unknown[]) => {
        const given = args.filter((each) => typeof each === "string");
        await run(session(), ...given);
      });
  command("list", "one line for each volume", (each) => show(each, listText));
  command("tree", "PersistentVolume → node → Mountpoint Pod → workloads", (each) => show(each, treeText));
  command("describe <name>", "everything about one volume, claim or Pod, with its events", describeCommand);
  command("events [name]", "events of all volumes, or of one volume, claim or Pod, by time", eventsCommand);
  command("watch", "the tree, live, until Ctrl-C", watchCommand);
  logsOptions(program, session);
  uiOptions(program, session);
  moveOptions(program, session, finish);
  doctorOptions(program, session, finish);
  benchOptions(program, session);
  supportBundleOptions(program, session);
  program
    .command("__complete", { hidden: true })
    .argument("[words...]")
    .helpOption(false)
    .allowUnknownOption()
    .action(async (words: string[]) => terminal.print(await completions(program, words, session)));
  return program;
}

async function show(
  session: Session,
  forPeople: (topology: Topology, style: Terminal["style"], isWide: boolean) => string,
): Promise<void> {
  const { signal, api, options, terminal } = session;
  const topology = buildTopology(await terminal.progress("reading the cluster", readCluster(signal, api, options)));
  terminal.print(formatted(options.output, topology, (isWide) => forPeople(topology, terminal.style, isWide)));
  for (const each of topology.unreadable) terminal.printError(`not shown: ${each}\n`);
}

function logsOptions(program: Command, session: () => Session): void {
  program
    .command("logs <name>")
    .description("logs of all parties of one volume, claim or Pod, merged by time")
    .option("--since <duration>", "how far back, such as 90s, 10m or 2h", "1h")
    .option("--all", "all lines of the driver, not only those that name the volume or its Pods", false)
    .action((name: string, options: { since: string; all: boolean }) => logsCommand(session(), name, options));
}

function uiOptions(program: Command, session: () => Session): void {
  program
    .command("ui")
    .description("the topology as a page in the browser, on this machine only, until Ctrl-C")
    .option("--port <number>", "port on 127.0.0.1; default: any free port")
    .action((options: { port?: string }) => uiCommand(session(), options));
}

function moveOptions(program: Command, session: () => Session, finish: Finish): void {
  program
    .command("move [name]")
    .description("moves running mounts to new Mountpoint Pods; exit code 1 if one was not moved")
    .option("--node <name>", "all mounts of a node")
    .option("--all", "all mounts", false)
    .option("--dry-run", "only shows what would be moved", false)
    .option("--parallel <number>", "how many at the same time", "1")
    .action(async (name: string | undefined, options: MoveOptions) =>
      finish(await moveCommand(session(), name, options)),
    );
}

function doctorOptions(program: Command, session: () => Session, finish: Finish): void {
  program
    .command("doctor")
    .description("checks the whole installation; exit code 1 if a problem is found, 2 if only warnings are")
    .option("--class <name>", "tries a StorageClass: makes a claim, waits for its bucket, and deletes both")
    .option("--no-probe", "does not start a Pod in the cluster that tries endpoint and credentials")
    .action(async (options: { class?: string; probe: boolean }) => finish(await doctorCommand(session(), options)));
}

function benchOptions(program: Command, session: () => Session): void {
  program
    .command("bench <name>")
    .description(
      "measures one volume from a Pod in the namespace of its claim; it then deletes the Pod and its files (a versioned bucket keeps versions)",
    )
    .option("--size <quantity>", "size of the large file, from 1Mi to 4Gi", "64Mi")
    .option("--files <number>", "number of small files, from 1 to 1000", "100")
    .option("--node <name>", "node on which to measure; default: one that has the volume mounted, if there is one")
    .option("--user <uid>", "user of the Pod; default: the owner of the files")
    .option("--fs-group <gid>", "fsGroup of the Pod; default: none")
    .option("--image <name>", "image of the driver; default: that of the DaemonSet s3-csi-node")
    .action((name: string, options: BenchOptions) => benchCommand(session(), name, options));
}

function supportBundleOptions(program: Command, session: () => Session): void {
  program
    .command("support-bundle")
    .description("writes what a support engineer needs into one file, without credentials")
    .option("--file <name>", "name of the file", "s3-csi-support.tar.gz")
    .option("--since <duration>", "how far back logs go, such as 90s, 10m or 2h", "24h")
    .action((options: { file: string; since: string }) => supportBundleCommand(session(), options));
}
