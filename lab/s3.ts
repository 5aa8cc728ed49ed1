/** The lab's S3 server: where it is, and who may use it. */
import { network } from "./layout.ts";

export interface Account {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export const rootAccount: Account = { accessKeyId: "labadmin", secretAccessKey: "labadminsecret0001" };
/** Owns nothing of the first account and sees nothing of it. */
export const tenantAccount: Account = { accessKeyId: "labtenant", secretAccessKey: "labtenantsecret0002" };

export const s3Region = "us-east-1";
/** As Pods and nodes of the lab reach it. */
export const s3Endpoint = `http://${network.hub}:${network.s3Port}`;
