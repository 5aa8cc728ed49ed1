/** What a setting can be: how its text becomes a value, and how a mistake is explained. */
import { Secret } from "../secret.ts";

export interface Kind<Value> {
  /** Completes the sentence "--flag must be …". */
  readonly expected: string;
  /** Returns undefined if the text is not of this kind. The text has no space at its ends. */
  readonly parse: (text: string) => Value | undefined;
  /** A toggle is a flag without a value. */
  readonly isToggle?: true;
  /** The text is left out of messages. */
  readonly isSecret?: true;
  /** An empty flag is a mistake, and does not count as absent. */
  readonly refusesEmpty?: true;
}

export const text: Kind<string> = { expected: "a text", parse: (given) => given };

export const secret: Kind<Secret> = { expected: "a text", parse: (given) => new Secret(given), isSecret: true };

/** A flag without a value. Declare it with the default `false`. */
export const toggle: Kind<boolean> = { expected: "without a value", parse: () => true, isToggle: true };

/** `true` or `false`, for a setting that is a variable, too. */
export const trueOrFalse: Kind<boolean> = {
  expected: "true or false",
  parse: (given) => (given === "true" ? true : given === "false" ? false : undefined),
};

/** A URL may carry a password, so messages do not show it. */
export const url: Kind<string> = {
  expected: "a URL such as https://s3.example.com",
  parse: (given) => (URL.canParse(given) ? given : undefined),
  isSecret: true,
};

export interface Range {
  readonly min: number;
  readonly max?: number;
}

export function integer({ min, max }: Range): Kind<number> {
  return {
    expected: max === undefined ? `an integer ≥ ${min}` : `an integer from ${min} to ${max}`,
    parse: (given) => {
      const value = Number(given);
      return /^\d+$/.test(given) && value >= min && value <= (max ?? Number.MAX_SAFE_INTEGER) ? value : undefined;
    },
    refusesEmpty: true,
  };
}

/** Whole seconds on the command line, milliseconds in the program. */
export function seconds(range: Range): Kind<number> {
  const whole = integer(range);
  return {
    expected: `${whole.expected}, in seconds`,
    parse: (given) => {
      const value = whole.parse(given);
      return value === undefined ? undefined : 1000 * value;
    },
    refusesEmpty: true,
  };
}

export function oneOf<const Value extends string>(...values: readonly Value[]): Kind<Value> {
  return {
    expected: values.length === 2 ? values.join(" or ") : `one of ${values.join(", ")}`,
    parse: (given) => values.find((value) => value === given),
  };
}

/** Names separated by commas. */
export const names: Kind<readonly string[]> = {
  expected: "names separated by commas",
  parse: (given) => given.split(",").flatMap((name) => name.trim() || []),
};

/** `parse` gets what the JSON stands for, and returns undefined if that is not what is expected. */
export function json<Value>(expected: string, parse: (value: unknown) => Value | undefined): Kind<Value> {
  return {
    expected,
    parse: (given) => {
      try {
        return parse(JSON.parse(given));
      } catch (error) {
        if (error instanceof SyntaxError) return undefined; // not JSON: the caller reports what is expected
        throw error;
      }
    },
  };
}

export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** An object of Kubernetes. */
export const namespacedName: Kind<NamespacedName> = {
  expected: "NAMESPACE/NAME",
  parse: (given) => {
    const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(given) ?? [];
    return namespace === undefined || name === undefined ? undefined : { namespace, name };
  },
};
