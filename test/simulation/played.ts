/** Plays a plan to its end. */
import type { Plan } from "./plan.ts";
import { replacedGlobals } from "./replaced-globals.ts";
import { World } from "./world.ts";

/** How much of a story is printed: its end says what broke the rule. */
const printedLines = 80;

/** Resolves with the story. Throws an error with the end of the story if a rule is broken. */
export async function played(plan: Plan): Promise<readonly string[]> {
  using _ = replacedGlobals();
  const world = new World(plan);
  try {
    await world.play();
    return world.story;
  } catch (error) {
    const story = world.story.slice(-printedLines).join("\n");
    throw new Error(`${String(error)}\n${story}`, { cause: error });
  }
}
