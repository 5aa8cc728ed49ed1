/** What is refused, accepted and warned about. */

export interface VolumeWish {
  readonly attributes?: Readonly<Record<string, string>>;
  readonly mountOptions?: readonly string[];
  readonly spec?: object;
  readonly driver?: string;
}

export interface ClassWish {
  readonly parameters?: Readonly<Record<string, string>>;
  readonly mountOptions?: readonly string[];
  readonly provisioner?: string;
}

type Row<Wish> = readonly [wish: Wish, sentence: string];

const attribute = (name: string, value: string): VolumeWish => ({ attributes: { [name]: value } });
const option = (text: string) => ({ mountOptions: [text] });

const amount = "is not a valid quantity: write for example 500m for CPU or 512Mi for memory";
const whole = "must be integers ≥ 0: write for example max-threads=16";
const noValue = "have no value: write only the name";
const octal = "dir-mode and file-mode must be octal numbers up to 0777: write for example dir-mode=0755";
const numeric = "uid and gid must be integers ≥ 1: write for example uid=1000";
const seconds = "must be seconds, indefinite or minimal: write for example metadata-ttl=60";
const notAnOption = "is not a valid option of mount-s3: write one option per line, with its long name";
const cacheSize =
  "cacheEmptyDirSizeLimit and cacheEphemeralStorageResourceRequest must be quantities of 2Mi or more: write for example 10Gi";
const lessThanRequest = "is less than its request: raise the limit or lower the request";
const proxyOnly = "only HTTPS_PROXY, HTTP_PROXY and NO_PROXY can be set: remove the other";

/** The same for volumes and classes. */
const refusedOptions: readonly (readonly [option: string, sentence: string])[] = [
  ["--", `-- ${notAnOption}`],
  ["-df", `-df ${notAnOption}`],
  ["---uid=1", `---uid=1 ${notAnOption}`],
  ["uid=nobody", numeric],
  ["uid=0", numeric],
  ["--gid -1", numeric],
  ["gid", numeric],
  ["dir-mode=888", octal],
  ["--file-mode 0o644", octal],
  ["dir-mode=01777", octal],
  ["prefix=data", "prefix must end in a slash: write for example prefix=data/"],
  ["--prefix a/b", "prefix must end in a slash: write for example prefix=data/"],
  ["max-cache-size=1Gi", whole],
  ["max-threads=many", whole],
  ["aws-max-attempts", whole],
  ["part-size=8MiB", whole],
  ["memory-target=1.5", whole],
  ["metadata-ttl=1m", seconds],
  ["negative-metadata-ttl=never", seconds],
  ["sse=rot13", "sse must be aws:kms, aws:kms:dsse or AES256: write for example sse=aws:kms"],
  ["upload-checksums=md5", "upload-checksums must be crc32c, crc64nvme or off: write for example upload-checksums=off"],
  ["allow-delete=true", noValue],
  ["allow-other yes", noValue],
  ["read-only=1", noValue],
  ["region=", "region, uid, gid, sse and prefix need a value: write for example region=us-east-1"],
];

const names = "use one of default (http://s3.example.com:8000), or add it to the chart value s3.stores";
const role = "arn:aws:iam::1234:role/team";

/** By attributes of volumes and parameters of classes, in an installation with one store and without pod identity. */
const refusedStores: readonly (readonly [texts: Readonly<Record<string, string>>, sentence: string])[] = [
  [{ store: "minio" }, `store minio is not a store of this installation: ${names}`],
  ...["https://s3.example.com:8000", "http://s3.example.com:8000.evil.example", "http://s3xexample.com:8000"].map(
    (url) =>
      [
        { endpointUrl: url },
        `endpointUrl ${url} is not the address of a store of this installation: ${names}`,
      ] as const,
  ),
  [{ store: "default", endpointUrl: "http://other" }, "endpointUrl http://other is not an address of store default: "],
  [{ authenticationSource: "Pod" }, "authenticationSource is none of driver, secret and pod: use one of them"],
  [{ roleArn: role }, "roleArn has no effect without authenticationSource pod"],
  [{ authenticationSource: "pod", roleArn: "team" }, "roleArn is not the ARN of a role: write arn:aws:iam::ACCOUNT:"],
];

export const refusedVolumes: readonly Row<VolumeWish>[] = [
  [attribute("bucketName", ""), "bucketName is required: name the bucket of this volume"],
  [
    { spec: { csi: { driver: "s3.csi.scality.com", volumeHandle: "h" } } },
    "bucketName is required: name the bucket of this volume",
  ],
  [{ spec: { volumeMode: "Block" } }, "spec.volumeMode cannot be Block"],
  [
    attribute("authenticationSource", "pod"),
    "authenticationSource pod is not enabled in this installation: use driver or",
  ],
  ...refusedStores.map(
    ([texts, sentence]): Row<VolumeWish> => [{ attributes: texts }, `spec.csi.volumeAttributes.${sentence}`],
  ),
  [attribute("mountpointContainerResourcesRequestsCpu", "lots"), `RequestsCpu ${amount}`],
  [attribute("mountpointContainerResourcesRequestsMemory", "1 Gi"), `RequestsMemory ${amount}`],
  [attribute("mountpointContainerResourcesLimitsCpu", "-1"), `LimitsCpu ${amount}`],
  [attribute("mountpointContainerResourcesLimitsMemory", "0"), `LimitsMemory ${amount}`],
  [attribute("mountpointContainerResourcesLimitsMemory", "512MB"), `LimitsMemory ${amount}`],
  [
    {
      attributes: { mountpointContainerResourcesRequestsCpu: "2", mountpointContainerResourcesLimitsCpu: "500m" },
    },
    lessThanRequest,
  ],
  [
    {
      attributes: {
        mountpointContainerResourcesRequestsMemory: "1Gi",
        mountpointContainerResourcesLimitsMemory: "512Mi",
      },
    },
    lessThanRequest,
  ],
  [attribute("mountpointPodServiceAccountName", "Not_A_Name"), "is not a valid name of a ServiceAccount"],
  [attribute("cache", "disk"), "cache is not a known kind of cache: use emptyDir or ephemeral, or remove it"],
  [{ attributes: { cache: "emptyDir", cacheEmptyDirSizeLimit: "big" } }, cacheSize],
  [{ attributes: { cache: "emptyDir", cacheEmptyDirSizeLimit: "1Mi" } }, cacheSize],
  [{ attributes: { cache: "ephemeral", cacheEphemeralStorageResourceRequest: "10 GB" } }, cacheSize],
  [
    { attributes: { cache: "emptyDir", cacheEmptyDirMedium: "HugePages" } },
    "cacheEmptyDirMedium is not a known medium",
  ],
  [
    { attributes: { cache: "emptyDir", cacheEmptyDirMedium: "Memory" } },
    "cacheEmptyDirSizeLimit is required with cacheEmptyDirMedium Memory: write for example 1Gi",
  ],
  [{ attributes: { cache: "ephemeral" } }, "is required with cache: ephemeral: write for example 10Gi"],
  [attribute("mountpointEnv.AWS_PROFILE", "x"), proxyOnly],
  [attribute("mountpointEnv.https_proxy", "x"), proxyOnly],
  ...refusedOptions.map(
    ([text, sentence]): Row<VolumeWish> => [option(text), `spec.mountOptions: ${sentenceOf(sentence)}`],
  ),
];

const secret = (kind: string, part: string) => `csi.storage.k8s.io/${kind}-secret-${part}`;
const together = (kind: string) => `${secret(kind, "name")} and ${secret(kind, "namespace")} work only together`;
const parameter = (name: string, value: string): ClassWish => ({ parameters: { [name]: value } });
const unknownVariable = "has a variable that does not exist";
const pair = (kind: string, name: string, namespace: string): ClassWish => ({
  parameters: { [secret(kind, "name")]: name, [secret(kind, "namespace")]: namespace },
});

export const refusedClasses: readonly Row<ClassWish>[] = [
  ...["provisioner", "node-publish"].flatMap((kind): Row<ClassWish>[] => [
    [{ parameters: { [secret(kind, "name")]: "keys" } }, together(kind)],
    [{ parameters: { [secret(kind, "namespace")]: "team" } }, together(kind)],
    [pair(kind, "", "team"), "cannot be empty: name the Secret, or remove both"],
    [pair(kind, "keys", ""), "cannot be empty: name the Secret, or remove both"],
    [pair(kind, "${pvc.nam}", "team"), `${secret(kind, "name")} ${unknownVariable}`],
    [pair(kind, "keys-${PVC.NAME}", "team"), `${secret(kind, "name")} ${unknownVariable}`],
    [pair(kind, "keys", "${pvc.name}"), `${secret(kind, "namespace")} ${unknownVariable} there`],
    [pair(kind, "keys", "${pvc.annotations['ns']}"), `${secret(kind, "namespace")} ${unknownVariable} there`],
  ]),
  [
    parameter("deletePolicy", "burn"),
    "parameters.deletePolicy burn is not a known policy: use one of delete-if-empty, ",
  ],
  [
    parameter("deletePolicy", "Purge"),
    "parameters.deletePolicy Purge is not a known policy: use one of delete-if-empty, ",
  ],
  [parameter("bucketNamePrefix", "team-${pvc.nam}"), "parameters.bucketNamePrefix has a variable that does not exist"],
  [parameter("bucketNamePrefix", "${}"), "parameters.bucketNamePrefix has a variable that does not exist"],
  [parameter("sharedBucket", "Not_A_Bucket"), "parameters.sharedBucket is not a valid bucket name"],
  [parameter("sharedBucket", "x"), "parameters.sharedBucket is not a valid bucket name"],
  [
    { parameters: { sharedBucket: "all", bucketNamePrefix: "x" } },
    "sharedBucket and bucketNamePrefix exclude each other",
  ],
  [parameter("sharedBucketPrefix", "${pvc.namespace}"), "parameters.sharedBucketPrefix needs sharedBucket"],
  ...["team-${pvc.nam}", "${}"].map(
    (prefix): Row<ClassWish> => [
      { parameters: { sharedBucket: "all", sharedBucketPrefix: prefix } },
      "parameters.sharedBucketPrefix has a variable that does not exist",
    ],
  ),
  ...["/", "/a", "a//b", "a//", ".", "a/../b", "../a", "a/."].map(
    (prefix): Row<ClassWish> => [
      { parameters: { sharedBucket: "all", sharedBucketPrefix: prefix } },
      "parameters.sharedBucketPrefix is not a prefix of directories: write names with a slash between them",
    ],
  ),
  [parameter("region", "us east 1"), "parameters.region is not a valid region name: use a name such as us-east-1"],
  [parameter("tags", "team=a;b"), "parameters.tags has team=a;b, which is not a valid tag: write key=value"],
  [parameter("tags", "good=1,=x"), "parameters.tags has =x, which is not a valid tag: write key=value"],
  [parameter("tags", "claim=${pvc.uid}"), "parameters.tags has claim=${pvc.uid}, which is not a valid tag"],
  [parameter("tags", "AWS:owner=me"), "parameters.tags has a key that is reserved"],
  [parameter("tags", "s3.csi.scality.com/cluster=x"), "parameters.tags has a key that is reserved"],
  [
    parameter("tags", Array.from({ length: 41 }, (_, index) => `t${index}=x`).join()),
    "parameters.tags has too many tags",
  ],
  [
    parameter("authenticationSource", "pod"),
    "authenticationSource pod is not enabled in this installation: use driver or",
  ],
  ...refusedStores.map(([texts, sentence]): Row<ClassWish> => [{ parameters: texts }, `parameters.${sentence}`]),
  ...refusedOptions.map(([text, sentence]): Row<ClassWish> => [option(text), `mountOptions: ${sentenceOf(sentence)}`]),
];

/** The list is named in front of every sentence; of some only the end is the same for all. */
function sentenceOf(sentence: string): string {
  return [whole, noValue, seconds].includes(sentence) ? "" : sentence;
}

export const acceptedVolumes: readonly VolumeWish[] = [
  {},
  { spec: { volumeMode: "Filesystem", accessModes: ["ReadWriteOnce"] } },
  { spec: { accessModes: ["ReadWriteOncePod"] } },
  { spec: { accessModes: ["ReadOnlyMany"] } },
  attribute("authenticationSource", "secret"),
  attribute("authenticationSource", ""),
  attribute("somethingElse", "that 2.x ignored"),
  attribute("region", "eu-west-1"),
  attribute("store", "default"),
  attribute("endpointUrl", "HTTP://S3.example.com:8000/"),
  { attributes: { store: "default", endpointUrl: "http://s3.example.com:8000" } },
  attribute("mountpointPodServiceAccountName", "mounts.team-a"),
  {
    attributes: {
      mountpointContainerResourcesRequestsCpu: "500m",
      mountpointContainerResourcesLimitsCpu: "2",
      mountpointContainerResourcesRequestsMemory: "64Mi",
      mountpointContainerResourcesLimitsMemory: "1Gi",
    },
  },
  { attributes: { cache: "emptyDir", cacheEmptyDirMedium: "Memory", cacheEmptyDirSizeLimit: "1Gi" } },
  {
    attributes: {
      cache: "ephemeral",
      cacheEphemeralStorageClassName: "fast",
      cacheEphemeralStorageResourceRequest: "10Gi",
    },
  },
  { attributes: { "mountpointEnv.HTTPS_PROXY": "http://proxy:3128", "mountpointEnv.NO_PROXY": "" } },
  {
    mountOptions: [
      "allow-delete",
      "--allow-overwrite",
      "allow-other",
      "region us-west-2",
      "aws-max-attempts 5",
      "  --uid    1000",
      "gid=2000",
      "-l logs/",
      "-d",
      "prefix env=prod/app=web/",
      "prefix=a/b c/",
      "sse=aws:kms",
      "sse-kms-key-id=arn:aws:kms:x",
      "cache",
      "cache /tmp/x",
      "max-cache-size=100",
      "metadata-ttl indefinite",
      "negative-metadata-ttl=5",
      "dir-mode=0755",
      "file-mode 644",
      "upload-checksums crc64nvme",
      "maximum-throughput-gbps=2.5",
      "",
    ],
  },
];

export const acceptedClasses: readonly ClassWish[] = [
  {},
  { parameters: { bucketNamePrefix: "team", region: "eu-west-1", anything: "else" } },
  { parameters: { bucketNamePrefix: " ${pvc.namespace}-${pvc.name}", deletePolicy: "retain", region: "" } },
  { parameters: { bucketNamePrefix: "", deletePolicy: "", sharedBucket: "", tags: "" } },
  { parameters: { store: "default", endpointUrl: " http://s3.example.com:8000/ ", roleArn: "" } },
  { parameters: { sharedBucket: "shared.bucket-1", deletePolicy: "purge" } },
  { parameters: { sharedBucket: "all", sharedBucketPrefix: "a.b/..c/${pvc.namespace}/${pvc.name}/" } },
  { parameters: { sharedBucket: "all", sharedBucketPrefix: "${pv.name}" } },
  { parameters: { sharedBucket: "all", sharedBucketPrefix: "" } },
  { parameters: { tags: "team=a, claim=${pvc.namespace}/${pvc.name},größe = 5 ,flag," } },
  pair("provisioner", "keys-${pvc.name}", "${pvc.namespace}"),
  pair("node-publish", "${pvc.annotations['team.example.com/keys']}-${pv.name}", "${pv.name}"),
  { mountOptions: ["allow-delete", "uid=1000", "prefix=a/"] },
];

export const questionable = [
  ["profile=x", "--profile"],
  ["--endpoint-url http://other", "--endpoint-url"],
  ["cache-xz=x", "--cache-xz"],
  ["incremental-upload", "--incremental-upload"],
  ["storage-class=GLACIER", "--storage-class"],
  ["-o ro", "-o"],
  ["auto-unmount", "--auto-unmount"],
] as const;

/** Without checksums mount-s3 loses empty files. */
export const losingOptions = ["upload-checksums=off", "--upload-checksums off"] as const;

/** And the option of mount-s3 that was meant, by its letters. */
export const unknownOptions = [
  ["allow-delet", "allow-delet is not an option of mount-s3 that this driver knows: did you mean allow-delete?"],
  ["--alow-other", "alow-other is not an option of mount-s3 that this driver knows: did you mean allow-other?"],
  ["max-threadz=4", "max-threadz is not an option of mount-s3 that this driver knows: did you mean max-threads?"],
  ["readonly", "readonly is not an option of mount-s3 that this driver knows: did you mean read-only?"],
  ["metadata-tlt 60", "metadata-tlt is not an option of mount-s3 that this driver knows: did you mean metadata-ttl?"],
  [
    "something-of-a-later-mount-s3=1",
    "something-of-a-later-mount-s3 is not an option of mount-s3 that this driver knows: check",
  ],
] as const;

/** Prefixes that the driver makes to fit. */
export const unfitPrefixes = ["Team", "team_a", "a.b", "p".repeat(47), "${pvc.namespace}.${pvc.name}"] as const;
