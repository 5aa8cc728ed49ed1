/** Plays a plan to its end. */
import type { Killed, Plan } from "./plan.ts";
import { replacedGlobals } from "./replaced-globals.ts";
import { recordedClaims } from "./warm-claims.ts";
import { World } from "./world.ts";

/** How much of a story is printed: its end says what broke the rule. */
const printedLines = 80;

/** How many steps the first replica, or the first node plugin, makes up to this time of the story. */
export async function stepsUntil(plan: Plan, who: Killed, seconds: number): Promise<number> {
  using _globals = replacedGlobals();
  using _claims = recordedClaims();
  const world = new World(plan);
  let steps = 0;
  world.time.after(1000 * seconds, () => {
    steps = world.stepsOf(who);
  });
  try {
    await world.play();
    return steps;
  } finally {
    await world.time.end();
  }
}

/** Resolves with the story. Throws an error with the end of the story if a rule is broken. */
export async function played(plan: Plan): Promise<readonly string[]> {
  using _globals = replacedGlobals();
  using _claims = recordedClaims();
  const world = new World(plan);
  try {
    await world.play();
    return [...world.story];
  } catch (error) {
    const story = world.story.slice(-printedLines).join("\n");
    throw new Error(`${String(error)}\n${story}`, { cause: error });
  } finally {
    await world.time.end();
  }
}
