import { useLayoutEffect, useRef } from "preact/hooks";

interface SearchBarProps {
  readonly text: string;
  readonly onText: (text: string) => void;
}

const purpose = "Search volumes, claims, buckets, nodes, Pods";

/** `/` leads to it from everywhere; Esc empties it, and leads back to the list. */
export function SearchBar({ text, onText }: SearchBarProps) {
  const input = useRef<HTMLInputElement>(null);
  useSlashKey(() => input.current?.focus());
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && text !== "") onText("");
    else if (event.key === "Escape" || event.key === "ArrowDown" || event.key === "Enter") focusList();
    else return;
    event.preventDefault();
  };
  return (
    <search class="search">
      <input
        ref={input}
        type="search"
        aria-label={purpose}
        placeholder={purpose}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <p class="keys">
        <kbd>/</kbd> search <kbd>↑</kbd> <kbd>↓</kbd> select <kbd>Enter</kbd> details <kbd>Esc</kbd> back
      </p>
    </search>
  );
}

/** The list belongs to the view below. */
function focusList(): void {
  document.querySelector<HTMLElement>(".grid")?.focus();
}

function useSlashKey(act: () => void): void {
  // Not useEffect, which runs after the first paint: a key may have been pressed by then.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLInputElement;
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  });
}
