/** The lab's S3 server: its accounts, and a client that reaches it from outside the lab. */
import { Agent } from "node:http";
import { connect } from "node:net";
import { S3Client } from "@aws-sdk/client-s3";
import { NodeHttpHandler } from "@smithy/node-http-handler";
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

/** An S3 client whose connections go through the lab's socket instead of the network. */
export function s3Client(socket: string, account: Account = rootAccount): S3Client {
  const httpAgent = new Agent({ keepAlive: true });
  httpAgent.createConnection = () => connect(socket);
  return new S3Client({
    endpoint: s3Endpoint,
    region: s3Region,
    credentials: account,
    forcePathStyle: true,
    requestHandler: new NodeHttpHandler({ httpAgent }),
  });
}
