/** A table of any length with one selected row: only the rows in sight are in the document. */
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { rowWindow, scrollTo } from "./row-window.ts";

export interface GridColumn<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** For texts that the column may cut off. */
  readonly hint?: (row: Row) => string;
  /** Class of the column: its width and alignment. */
  readonly kind: string;
}

interface GridProps<Row> {
  readonly label: string;
  readonly columns: readonly GridColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly selected: string;
  readonly onSelect: (key: string) => void;
  /** Enter: to the details of the selected row. */
  readonly onOpen: () => void;
  /** Of the element that takes the focus. */
  readonly focusRef: RefObject<HTMLTableElement | null>;
}

/** As in page.css. */
const rowHeight = 30;

export function DataGrid<Row>(props: GridProps<Row>) {
  const { label, columns, rows, keyOf, selected, onSelect, onOpen, focusRef } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const height = useHeight(scroller);
  const at = rows.findIndex((row) => keyOf(row) === selected);
  const { first, end } = rowWindow({ count: rows.length, rowHeight, top, height });

  useSelectionInSight(scroller, at, selected);
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / rowHeight) - 2);
    const next = keyTarget(event.key, at, { last: rows.length - 1, page });
    if (event.key === "Enter" && at >= 0) onOpen();
    else if (next === undefined) return;
    const row = next === undefined ? undefined : rows[next];
    if (row !== undefined) onSelect(keyOf(row));
    event.preventDefault();
  };

  const isActiveDrawn = at >= first && at < end;
  return (
    <div class="scroller" ref={scroller} onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}>
      <table
        role="grid"
        class="grid"
        tabIndex={0}
        ref={focusRef}
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-activedescendant={isActiveDrawn ? rowId(at) : undefined}
        onKeyDown={onKeyDown}
      >
        <Head columns={columns} />
        <Gap rows={first} />
        <tbody>
          {rows.slice(first, end).map((row, offset) => (
            <tr
              key={keyOf(row)}
              id={rowId(first + offset)}
              aria-rowindex={first + offset + 2}
              aria-selected={first + offset === at}
              onClick={() => onSelect(keyOf(row))}
            >
              {cellsOf(row, columns)}
            </tr>
          ))}
        </tbody>
        <Gap rows={rows.length - end} />
      </table>
    </div>
  );
}

function Head<Row>({ columns }: { readonly columns: readonly GridColumn<Row>[] }) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map(({ title, kind }) => (
          <th key={title} scope="col" class={kind}>
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function cellsOf<Row>(row: Row, columns: readonly GridColumn<Row>[]) {
  return columns.map(({ title, kind, cell, hint }) => (
    <td key={title} class={kind} title={hint?.(row)}>
      {cell(row)}
    </td>
  ));
}

/** In place of rows that are not drawn, so that the scroll bar is right. */
function Gap({ rows }: { readonly rows: number }) {
  if (rows <= 0) return null;
  return (
    <tbody aria-hidden="true">
      <tr>
        <td class="gap" style={{ height: `${rows * rowHeight}px` }} />
      </tr>
    </tbody>
  );
}

function keyTarget(
  key: string,
  at: number,
  { last, page }: { readonly last: number; readonly page: number },
): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: Math.min(last, at + 1),
    ArrowUp: Math.max(0, at - 1),
    PageDown: Math.min(last, at + page),
    PageUp: Math.max(0, at - page),
    Home: 0,
    End: last,
  };
  return Object.hasOwn(targets, key) ? targets[key] : undefined;
}

function rowId(at: number): string {
  return `row-${at}`;
}

/** Only when the selection moves: whoever scrolls away from it may stay there while the list changes. */
function useSelectionInSight(scroller: RefObject<HTMLElement | null>, at: number, selected: string): void {
  useLayoutEffect(() => {
    const { current } = scroller;
    if (current === null || at < 0) return;
    // The head covers the first row of what the element shows.
    const wanted = scrollTo(at, { rowHeight, top: current.scrollTop, height: current.clientHeight - rowHeight });
    if (wanted !== undefined) current.scrollTop = wanted;
  }, [selected]);
}

function useHeight(element: RefObject<HTMLElement | null>): number {
  const [height, setHeight] = useState(0);
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const observer = new ResizeObserver(() => setHeight(current.clientHeight));
    observer.observe(current);
    return () => observer.disconnect();
  }, [element]);
  return height;
}
