/** The stores that volumes can use, as the controller of the installation knows them. */
import type { Stores } from "../../core/stores/store.ts";
import { storesFrom } from "../../core/stores/store-list.ts";
import type { Workload } from "../../topology/objects.ts";

/** undefined: there is no controller that could be read, or its settings are mistaken, with which it does not start. */
export function storesOf(deployment: Workload | undefined): Stores | undefined {
  const controller = deployment?.spec.template.spec.containers.find(({ name }) => name === "s3-csi-controller");
  if (controller === undefined) return undefined;
  const settings = new Map(controller.env?.map(({ name, value }) => [name, value]));
  const usual = {
    endpointUrl: settings.get("AWS_ENDPOINT_URL") ?? "",
    region: settings.get("AWS_REGION") || "us-east-1",
  };
  try {
    return storesFrom(usual, JSON.parse(settings.get("S3_STORES") || "{}") as Parameters<typeof storesFrom>[1]);
  } catch {
    return undefined;
  }
}
