/** An OTLP export of metrics, as mount-s3 sends it. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

export interface Metric {
  readonly name: string;
  readonly kind: "sum" | "gauge" | "exponentialHistogram" | "histogram";
  readonly temporality?: "delta" | "cumulative";
  readonly points: readonly {
    readonly attributes?: Readonly<Record<string, string | number>>;
    readonly value: number;
    readonly count?: number;
  }[];
}

const dataField = { gauge: 5, sum: 7, histogram: 9, exponentialHistogram: 10 } as const;
const attributesField = { gauge: 7, sum: 7, histogram: 9, exponentialHistogram: 1 } as const;

export function otlpMessage(...metrics: readonly Metric[]): Uint8Array {
  const scope = message(...metrics.map((metric) => field(2, metricOf(metric))));
  // The resource of mount-s3 is empty.
  return message(field(1, message(field(1, new Uint8Array()), field(2, scope))));
}

function metricOf({ name, kind, temporality = "cumulative", points }: Metric): Uint8Array {
  const ofData = points.map((point) => field(1, pointOf(kind, point)));
  if (kind !== "gauge") ofData.push((writer) => writer.tag(2, WireType.Varint).int32(temporality === "delta" ? 1 : 2));
  return message(
    (writer) => writer.tag(1, WireType.LengthDelimited).string(name),
    (writer) => writer.tag(2, WireType.LengthDelimited).string("a description"),
    field(dataField[kind], message(...ofData)),
  );
}

function pointOf(kind: Metric["kind"], { attributes = {}, value, count = 0 }: Metric["points"][number]): Uint8Array {
  const isNumber = kind === "gauge" || kind === "sum";
  return message(
    (writer) => writer.tag(3, WireType.Bit64).fixed64("1760000000000000000"),
    ...(isNumber
      ? [(writer: BinaryWriter) => writer.tag(6, WireType.Bit64).sfixed64(String(value))]
      : [
          (writer: BinaryWriter) => writer.tag(4, WireType.Bit64).fixed64(String(count)),
          (writer: BinaryWriter) => writer.tag(5, WireType.Bit64).double(value),
        ]),
    ...Object.entries(attributes).map(([key, of]) => field(attributesField[kind], attributeOf(key, of))),
  );
}

function attributeOf(key: string, value: string | number): Uint8Array {
  const any =
    typeof value === "string"
      ? message((writer) => writer.tag(1, WireType.LengthDelimited).string(value))
      : message((writer) => writer.tag(3, WireType.Varint).int64(value));
  return message((writer) => writer.tag(1, WireType.LengthDelimited).string(key), field(2, any));
}

type Write = (writer: BinaryWriter) => BinaryWriter;

function message(...writes: readonly Write[]): Uint8Array {
  return writes.reduce((writer, write) => write(writer), new BinaryWriter()).finish();
}

function field(number: number, bytes: Uint8Array): Write {
  return (writer) => writer.tag(number, WireType.LengthDelimited).bytes(bytes);
}
