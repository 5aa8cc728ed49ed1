/** Says what is being done, how far it is and how long it has taken; a line that lives on a terminal, plain lines elsewhere. */

export interface Task {
  /** How far it is, in a few words. */
  at(detail: string): void;
}

export interface Progress {
  /** Runs the work under a title that stays visible until it ends. */
  task<T>(title: string, work: (task: Task) => Promise<T>): Promise<T>;
  /** A sentence of its own. */
  say(line: string): void;
}

/** Quiet for the whole of this time, a plain output says that the work goes on. */
const plainIntervalMs = 20_000;
const liveIntervalMs = 120;
/** Steps shorter than this are not worth a line in a log. */
const shortMs = 300;

export function progressOn(stream: NodeJS.WriteStream): Progress {
  return stream.isTTY ? liveProgress(stream) : plainProgress(stream);
}

function plainProgress(stream: NodeJS.WriteStream): Progress {
  const say = (line: string) => void stream.write(`${line}\n`);
  return {
    say,
    task: async (title, work) => {
      const started = Date.now();
      let detail = "";
      const timer = setInterval(() => say(`  … ${title}${detail} (${elapsed(started)})`), plainIntervalMs);
      try {
        const result = await work({ at: (text) => void (detail = `: ${text}`) });
        if (Date.now() - started >= shortMs) say(`  ✓ ${title} (${elapsed(started)})`);
        return result;
      } catch (error) {
        say(`  ✗ ${title} (${elapsed(started)})`);
        throw error;
      } finally {
        clearInterval(timer);
      }
    },
  };
}

interface Running {
  readonly title: string;
  readonly started: number;
  detail: string;
}

function liveProgress(stream: NodeJS.WriteStream): Progress {
  const running = new Set<Running>();
  let frame = 0;
  let timer: NodeJS.Timeout | undefined;
  const draw = () => {
    const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[frame++ % 10];
    const text = [...running].map((task) => `${task.title}${task.detail} ${elapsed(task.started)}`).join(" · ");
    const width = Math.max(20, stream.columns - 4);
    stream.write(`\r\x1b[2K  ${spinner} ${text.slice(0, width)}`);
  };
  const clear = () => void stream.write("\r\x1b[2K");
  const say = (line: string) => {
    if (running.size > 0) clear();
    stream.write(`${line}\n`);
  };
  const finish = (task: Running, mark: string) => {
    running.delete(task);
    if (running.size === 0) clearInterval(timer);
    clear();
    stream.write(`  ${mark} ${task.title} \x1b[2m(${elapsed(task.started)})\x1b[0m\n`);
  };
  return {
    say,
    task: async (title, work) => {
      const task: Running = { title, started: Date.now(), detail: "" };
      if (running.size === 0) timer = setInterval(draw, liveIntervalMs);
      running.add(task);
      try {
        const result = await work({ at: (text) => void (task.detail = `: ${text},`) });
        finish(task, "\x1b[32m✓\x1b[0m");
        return result;
      } catch (error) {
        finish(task, "\x1b[31m✗\x1b[0m");
        throw error;
      }
    },
  };
}

export function elapsed(since: number): string {
  const seconds = (Date.now() - since) / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** What is left of work of which this share took that long, in words. Of a small share nothing can be told. */
export function timeLeft(elapsedMs: number, share: number): string {
  if (share < 0.05) return "the rest is not known yet";
  const minutes = Math.ceil((elapsedMs * (1 - share)) / share / 60_000);
  return minutes <= 1 ? "less than a minute left" : `about ${minutes} min left`;
}
