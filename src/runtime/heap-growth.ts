/**
 * Node runs the reconciler with `--optimize-for-size` (scripts/bundle.ts), which keeps a small heap small: V8 collects the whole heap
 * after it has grown by a fraction of itself. For a heap of hundreds of megabytes that is a second of marking after every few dozen
 * megabytes, while a large cluster is listed. V8 reads the flag whenever it decides how far a heap may grow, so it can be turned off.
 */
import { getHeapStatistics, setFlagsFromString } from "node:v8";

/**
 * A cluster with fewer than about 10,000 volumes on nodes stays below it. A heap of 85 MB that may grow by a tenth was collected as a whole
 * more than seventy times while 20,000 of them were listed twice (bench/README.md).
 */
const smallHeapBytes = 48 * 2 ** 20;
const lookEveryMs = 1000;

/** Until it is disposed of: as soon as the heap is large, speed goes before size. */
export function growLargeHeapsFreely(limitBytes = smallHeapBytes): Disposable {
  const timer = setInterval(() => {
    if (getHeapStatistics().used_heap_size < limitBytes) return;
    clearInterval(timer);
    setFlagsFromString("--no-optimize-for-size");
  }, lookEveryMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
