/** The lab's S3 servers: where they are, and who may use them. */
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

/** May do everything at MinIO, and is unknown to the other server. */
export const minioAccount: Account = { accessKeyId: "labminio", secretAccessKey: "labminiosecret0003" };
/** MinIO, in labs that have it, as Pods and nodes reach it. It is its own STS. */
export const minioEndpoint = `http://${network.hub}:${network.minioPort}`;
/** The audience of the service account tokens that it accepts. */
export const minioAudience = "sts.amazonaws.com";
