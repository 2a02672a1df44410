// A table that scrolls within itself when the window is narrow, or stacks its cells there.
import { html, useId } from "./html.js";

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: Row) => import("./html.js").Children} cell
 * @property {boolean} [numeric] aligned at the right
 * @property {boolean} [heading] names its row
 * @property {"ascending" | "descending" | null} [sorted] null: can be sorted by, and is not
 * @property {() => void} [sort]
 */

// Roles are written out: a cell that is laid out as a block would lose its own.

/**
 * @template Row
 * @param {{ caption: string, columns: Column<Row>[], rows: Row[], rowKey: (row: Row) => string,
 *   showCaption?: boolean, stacks?: boolean }} props
 *   `stacks`: in a narrow window each row is a list of its cells, and no headings stand above; for tables without sorting
 */
export function Table({ caption, columns, rows, rowKey, showCaption = false, stacks = false }) {
  const id = useId();
  return html`<div class="table" role="region" aria-labelledby=${id} tabindex="0">
    <table role="table" class=${stacks ? "stacks" : ""}>
      <caption id=${id} class=${showCaption ? "" : "unseen-label"}>${caption}</caption>
      <thead role="rowgroup">
        <tr role="row">${columns.map((column) => html`<${Heading} column=${column} />`)}</tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (row) => html`<tr key=${rowKey(row)} role="row">
            ${columns.map((column) =>
              column.heading
                ? html`<th scope="row" role="rowheader">${column.cell(row)}</th>`
                : html`<td role="cell" class=${column.numeric ? "numeric" : ""} data-title=${column.title}>${column.cell(row)}</td>`,
            )}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** @param {{ column: Column<any> }} props */
const Heading = ({ column }) => html`<th
  scope="col"
  role="columnheader"
  class=${column.numeric ? "numeric" : ""}
  aria-sort=${column.sort ? column.sorted ?? "none" : undefined}
>
  ${column.sort ? html`<button class="sort" onClick=${column.sort}>${column.title}</button>` : column.title}
</th>`;
