/** Flags and environment → the task of the setup program, or every mistake at once. */
import { defaultMountpointNamespace } from "../core/names.ts";
import { type ApiLocation, apiLocationFrom, apiSettings } from "../kube/client/api-location.ts";
import { type NamespacedName, namespacedName, oneOf, seconds, text } from "../runtime/settings/kinds.ts";
import { type Environment, readSettings, type Settings, type ValuesToCheck } from "../runtime/settings/settings.ts";

export type SetupTask =
  /** `definition` is a file with the custom resource definition, in JSON. */
  | { readonly do: "install-kind"; readonly definition: string }
  /** `namespace` is that of the release. */
  | { readonly do: "recreate-controller"; readonly namespace: string }
  /** `protectedSecrets` is the ConfigMap with the records of protected Secrets. */
  | { readonly do: "release-secrets"; readonly protectedSecrets: NamespacedName }
  /** `warmOwner` is the ConfigMap with which Mountpoint Pods that wait for volumes end; undefined: there are none. */
  | {
      readonly do: "remove-mounts";
      readonly mountpointNamespace: string;
      readonly warmOwner: string | undefined;
      readonly limitMs: number;
    };

export interface SetupConfig {
  readonly task: SetupTask;
  readonly api: ApiLocation;
}

const declared = {
  task: {
    argument: "the task",
    kind: oneOf("install-kind", "recreate-controller", "release-secrets", "remove-mounts"),
    required: "use install-kind, recreate-controller, release-secrets or remove-mounts",
  },
  definition: { flag: "definition", kind: text, default: "/etc/s3-csi/definition.json" },
  namespace: { flag: "namespace", kind: text },
  mountpointNamespace: { flag: "mountpoint-namespace", kind: text, default: defaultMountpointNamespace },
  warmOwner: { flag: "warm-owner", kind: text },
  protectedSecrets: { flag: "protected-secrets", kind: namespacedName },
  limitMs: { flag: "limit-seconds", kind: seconds({ min: 1, max: 1_000_000 }), default: 300_000 },
  ...apiSettings,
} as const satisfies Settings;

/** Throws one Error that names every mistake. */
export function setupConfigFrom(args: readonly string[], env: Environment): SetupConfig {
  const settings = readSettings(declared, { args, env }, [checkTask, apiLocationFrom]);
  return Object.freeze<SetupConfig>({ task: taskFrom(settings, settings.task), api: apiLocationFrom(settings) });
}

type Values = ValuesToCheck<typeof declared>;

function checkTask(values: Values): void {
  if (values.task !== undefined) taskFrom(values, values.task);
}

function taskFrom(values: Values, task: SetupTask["do"]): SetupTask {
  const { definition, namespace, mountpointNamespace, protectedSecrets, warmOwner, limitMs } = values;
  switch (task) {
    case "install-kind":
      return { do: task, definition };
    case "recreate-controller":
      return { do: task, namespace: required(namespace, "--namespace", task) };
    case "release-secrets":
      return { do: task, protectedSecrets: required(protectedSecrets, "--protected-secrets", task) };
    case "remove-mounts":
      return { do: task, mountpointNamespace, warmOwner, limitMs };
    default:
      return task satisfies never;
  }
}

function required<Value>(value: Value | undefined, flag: string, task: string): Value {
  if (value === undefined) throw new Error(`${task} needs ${flag}`);
  return value;
}
