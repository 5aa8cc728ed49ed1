/** The program of the Pod that `kubectl s3 bench` starts: measures the volume and prints a line for each step, and the result. */
import { type BenchLine, type BenchPlan, benchLine, noFilesLeft } from "../core/volume-bench.ts";
import { runProgram } from "../runtime/program.ts";
import { measureReads } from "../volume-bench/measure-reads.ts";
import { FailedStepError, measureWrites } from "../volume-bench/measure-writes.ts";

const report = (line: BenchLine) => void process.stdout.write(benchLine(line));

await runProgram("volume-bench", async (signal) => {
  const plan = JSON.parse(process.argv[2] ?? "{}") as BenchPlan;
  const { directory } = plan;
  try {
    const result =
      directory === undefined
        ? await measureReads(signal, plan, report)
        : await measureWrites(signal, { ...plan, directory }, report);
    report({ result });
  } catch (error) {
    const filesLeft = error instanceof FailedStepError ? error.filesLeft : noFilesLeft;
    report({ problem: (error as Error).message, filesLeft });
    throw error;
  }
});
