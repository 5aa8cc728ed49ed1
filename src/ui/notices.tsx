/** What is wrong with what the page shows. */
import type { Model } from "./model.ts";

export function Notices({ model }: { readonly model: Model }) {
  const { serverProblem, connection, state } = model;
  return (
    <div class="notices" role="status">
      {serverProblem !== "" && <p class="notice problem">{serverProblem}</p>}
      {serverProblem === "" && connection.problem !== "" && (
        <p class="notice problem">
          The connection to the cluster is lost since {clock(connection.since)}: {connection.problem}. The page shows
          the state before.
        </p>
      )}
      {(state?.unreadable ?? []).map((each) => (
        <p class="notice" key={each}>
          Not shown: {each}
        </p>
      ))}
    </div>
  );
}

/** In the time zone of the browser. */
function clock(time: string): string {
  return new Date(time).toLocaleTimeString();
}
