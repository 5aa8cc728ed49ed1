/**
 * The data points of an OTLP export of metrics, as HTTP carries it (opentelemetry-proto, ExportMetricsServiceRequest). Reads what
 * mount-s3 sends: sums, gauges and histograms, of histograms only sum and count. Everything else is skipped.
 */
import { BinaryReader, type WireType } from "@bufbuild/protobuf/wire";

export interface OtlpPoint {
  readonly name: string;
  readonly kind: "sum" | "gauge" | "histogram";
  /** delta: since the export before. cumulative: since the start of the process. A gauge is neither. */
  readonly temporality: "delta" | "cumulative";
  /** Since when a cumulative point counts, in ns since the Unix epoch: it advances when the process is started again. */
  readonly startNs: bigint;
  readonly attributes: Readonly<Record<string, string>>;
  /** Of a histogram: the sum of all observations. */
  readonly value: number;
  /** Of a histogram: the number of observations; else 0. */
  readonly count: number;
}

/** Throws an Error if the bytes are not a message of this kind. */
export function otlpPoints(bytes: Uint8Array): readonly OtlpPoint[] {
  const points: OtlpPoint[] = [];
  const metric = (reader: BinaryReader) => points.push(...pointsOf(reader));
  const scope = (reader: BinaryReader) => readFields(reader, { 2: embedded(metric) });
  const resource = (reader: BinaryReader) => readFields(reader, { 2: embedded(scope) });
  readFields(new BinaryReader(bytes), { 1: embedded(resource) });
  return points;
}

/** Field number → what reads the field's value. */
type Readers = Readonly<Record<number, (reader: BinaryReader) => void>>;

function readFields(reader: BinaryReader, readers: Readers): void {
  while (reader.pos < reader.len) {
    const [field, type]: [number, WireType] = reader.tag();
    const read = readers[field];
    if (read === undefined) reader.skip(type, field);
    else read(reader);
  }
}

function embedded(read: (reader: BinaryReader) => unknown): (reader: BinaryReader) => void {
  return (reader) => void read(new BinaryReader(reader.bytes()));
}

type Point = Pick<OtlpPoint, "attributes" | "value" | "count" | "startNs">;
type Read = (reader: BinaryReader) => Point;

function pointsOf(reader: BinaryReader): readonly OtlpPoint[] {
  let name = "";
  const found: Omit<OtlpPoint, "name">[] = [];
  const data = (kind: OtlpPoint["kind"], read: Read) =>
    embedded((each) => {
      const { points, temporality } = dataOf(each, read);
      for (const point of points) found.push({ kind, temporality, ...point });
    });
  readFields(reader, {
    1: (each) => void (name = each.string()),
    5: data("gauge", numberPoint),
    7: data("sum", numberPoint),
    9: data("histogram", (each) => histogramPoint(each, 9)),
    10: data("histogram", (each) => histogramPoint(each, 1)),
  });
  return found.map((point) => Object.assign(point, { name }));
}

/** AGGREGATION_TEMPORALITY_CUMULATIVE */
const cumulative = 2;

function dataOf(reader: BinaryReader, read: Read) {
  const points: Point[] = [];
  let temporality: OtlpPoint["temporality"] = "delta";
  readFields(reader, {
    1: embedded((each) => points.push(read(each))),
    2: (each) => void (temporality = each.int32() === cumulative ? "cumulative" : "delta"),
  });
  return { points, temporality };
}

function numberPoint(reader: BinaryReader): Point {
  const attributes: Record<string, string> = {};
  let value = 0;
  let startNs = 0n;
  readFields(reader, {
    2: (each) => void (startNs = BigInt(each.fixed64())),
    4: (each) => void (value = each.double()),
    6: (each) => void (value = Number(each.sfixed64())),
    7: embedded((each) => addAttribute(attributes, each)),
  });
  return { attributes, value, count: 0, startNs };
}

/** Both kinds of histograms have count and sum in the same fields, and attributes in different ones. */
function histogramPoint(reader: BinaryReader, attributesField: number): Point {
  const attributes: Record<string, string> = {};
  let [value, count] = [0, 0];
  let startNs = 0n;
  readFields(reader, {
    2: (each) => void (startNs = BigInt(each.fixed64())),
    4: (each) => void (count = Number(each.fixed64())),
    5: (each) => void (value = each.double()),
    [attributesField]: embedded((each) => addAttribute(attributes, each)),
  });
  return { attributes, value, count, startNs };
}

function addAttribute(attributes: Record<string, string>, reader: BinaryReader): void {
  let [key, value] = ["", ""];
  const any: Readers = {
    1: (each) => void (value = each.string()),
    2: (each) => void (value = String(each.bool())),
    3: (each) => void (value = String(each.int64())),
    4: (each) => void (value = String(each.double())),
  };
  readFields(reader, {
    1: (each) => void (key = each.string()),
    2: embedded((each) => readFields(each, any)),
  });
  attributes[key] = value;
}
