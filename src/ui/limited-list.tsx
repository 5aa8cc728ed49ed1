import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

interface LimitedProps<Item> {
  readonly items: readonly Item[];
  readonly limit: number;
  /** Plural, for the button. */
  readonly what: string;
  readonly children: (shown: readonly Item[]) => ComponentChildren;
}

/** The first items of a list, and a button for more of them. */
export function Limited<Item>({ items, limit, what, children }: LimitedProps<Item>) {
  const [most, setMost] = useState(limit);
  const hidden = items.length - most;
  return (
    <>
      {children(items.slice(0, most))}
      {hidden > 0 && (
        <button type="button" class="more" onClick={() => setMost(most + 5 * limit)}>
          Show more of {items.length.toLocaleString("en")} {what}
        </button>
      )}
    </>
  );
}
