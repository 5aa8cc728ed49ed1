import type { Cluster } from "./cluster.ts";

/**
 * Helm applies on the server, and changes no field that kubectl has written, also if kubectl has undone its change. What nobody owns is for
 * Helm to take. `object`: as arguments of kubectl.
 */
export async function giveBackToHelm(cluster: Cluster, ...object: readonly string[]): Promise<void> {
  const text = await cluster.kubectl("get", ...object, "--show-managed-fields", "-o", "json");
  const { metadata } = JSON.parse(text) as { metadata: { managedFields: readonly { manager: string }[] } };
  const managedFields = metadata.managedFields.filter(({ manager }) => !manager.startsWith("kubectl"));
  await cluster.kubectl("patch", ...object, "--type=merge", "-p", JSON.stringify({ metadata: { managedFields } }));
}
