/** Variables such as `${pvc.namespace}` in the parameters of a StorageClass. */
import { parameterRefusal } from "./parameter-refusal.ts";

/** undefined: csi-provisioner did not send the value. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** csi-provisioner resolves variables only in Secret names and namespaces; the driver resolves those in its own parameters. */
export function resolved(parameter: string, text: string, variables: Variables): string {
  return text.replaceAll(/\$\{([^}]*)\}/g, (variable, name: string) => {
    const value = variables[name];
    if (value !== undefined) return value;
    if (!(name in variables)) {
      throw parameterRefusal(
        parameter,
        `has the unknown variable ${variable}`,
        `use one of ${Object.keys(variables).join(", ")}`,
      );
    }
    throw parameterRefusal(
      parameter,
      `needs ${variable}, which csi-provisioner did not send`,
      "run csi-provisioner with --extra-create-metadata",
    );
  });
}
