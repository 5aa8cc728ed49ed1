/** Talks to the lab's S3 servers from outside the lab. */
import { Agent } from "node:http";
import { connect } from "node:net";
import { S3Client } from "@aws-sdk/client-s3";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { type Account, rootAccount, s3Endpoint, s3Region } from "./s3.ts";

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
