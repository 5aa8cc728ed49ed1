/** Asks for a token of the cluster. The form is never sent: its token goes into a header of the feed. */
import { useState } from "preact/hooks";
import type { FeedRefusal } from "./feed-reader.ts";

interface LogInProps {
  readonly refusal: FeedRefusal;
  /** Whether the refusal is about a token that was given here. */
  readonly wasTried: boolean;
  readonly onToken: (token: string) => void;
}

export function LogIn({ refusal, wasTried, onToken }: LogInProps) {
  const [token, setToken] = useState("");
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (token.trim() !== "") onToken(token.trim());
  };
  const isWorthSaying = wasTried || !refusal.isTokenUnknown;
  return (
    <main class="log-in">
      <h2>Log in</h2>
      {isWorthSaying && (
        <p class="notice problem" role="alert">
          {refusal.because}
        </p>
      )}
      <form onSubmit={onSubmit}>
        <label for="token">Token of a user of the cluster</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <button type="submit">Log in</button>
      </form>
      <p class="quiet">
        <code>kubectl create token ACCOUNT -n NAMESPACE</code> prints one. The page forgets it when it is closed or
        reloaded.
      </p>
    </main>
  );
}
