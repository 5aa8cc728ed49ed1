import { useEffect, useState } from "preact/hooks";

const stepMs = 5000;

/** RFC 3339; ages on the page follow it. */
export function useNow(): string {
  const [now, setNow] = useState(() => new Date().toISOString());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date().toISOString()), stepMs);
    return () => clearInterval(timer);
  }, []);
  return now;
}
