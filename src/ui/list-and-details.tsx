/** A list at the left, and what is selected in it at the right. */
import type { ComponentChildren, RefObject } from "preact";
import { useRef } from "preact/hooks";
import { DataGrid, type GridColumn } from "./data-grid.tsx";

interface ListAndDetailsProps<Row> {
  /** Plural. */
  readonly what: string;
  readonly rows: readonly Row[];
  /** Without search and filter. */
  readonly total: number;
  readonly columns: readonly GridColumn<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly selected: string;
  readonly onSelect: (key: string) => void;
  readonly details: (headingRef: RefObject<HTMLHeadingElement | null>) => ComponentChildren;
}

export function ListAndDetails<Row>(props: ListAndDetailsProps<Row>) {
  const { what, rows, total, columns, keyOf, selected, onSelect, details } = props;
  const list = useRef<HTMLTableElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const toList = (event: KeyboardEvent) => {
    if (event.key === "Escape") list.current?.focus();
  };
  return (
    <main class="split">
      <section class="list" aria-label={`List of ${what}`}>
        <p class="count" role="status">
          {rows.length === total ? "" : `${rows.length.toLocaleString("en")} of `}
          {total.toLocaleString("en")} {what}
        </p>
        <DataGrid
          label={what}
          columns={columns}
          rows={rows}
          keyOf={keyOf}
          selected={selected}
          onSelect={onSelect}
          onOpen={() => heading.current?.focus()}
          focusRef={list}
        />
      </section>
      <section class="details" aria-label="Details" tabIndex={0} onKeyDown={toList}>
        {details(heading)}
      </section>
    </main>
  );
}
