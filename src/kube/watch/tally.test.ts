import { expect, it } from "vitest";
import { Store } from "./store.ts";
import { Tally } from "./tally.ts";

interface Thing {
  readonly colour: "red" | "blue";
  readonly weight: number;
}

const zeros = { red: 0, blue: 0, weight: 0 } as const;
const amountsOf = ({ colour, weight }: Thing) => ({ [colour]: 1, weight });

it("follows the objects of a store: those that it has, that come, change and go", () => {
  const store = new Store<Thing>({});
  store.put("a", "1", { colour: "red", weight: 5 });
  const tally = new Tally(store, zeros, amountsOf);
  expect(tally.sums).toEqual({ red: 1, blue: 0, weight: 5 });
  store.put("b", "1", { colour: "red", weight: 1 });
  store.put("a", "2", { colour: "blue", weight: 7 });
  expect(tally.sums).toEqual({ red: 1, blue: 1, weight: 8 });
  store.remove("b");
  expect(tally.sums).toEqual({ red: 0, blue: 1, weight: 7 });
});

it("follows what a new list lacks", () => {
  const store = new Store<Thing>({});
  const tally = new Tally(store, zeros, amountsOf);
  store.put("a", "1", { colour: "red", weight: 5 });
  store.begin();
  store.put("b", "1", { colour: "blue", weight: 2 });
  store.complete();
  expect(tally.sums).toEqual({ red: 0, blue: 1, weight: 2 });
});
