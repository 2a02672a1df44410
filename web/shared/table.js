// A table that scrolls within itself when the window is narrow.
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

/**
 * @template Row
 * @param {{ caption: string, columns: Column<Row>[], rows: Row[], rowKey: (row: Row) => string,
 *   showCaption?: boolean }} props
 */
export function Table({ caption, columns, rows, rowKey, showCaption = false }) {
  const id = useId();
  return html`<div class="table" role="region" aria-labelledby=${id} tabindex="0">
    <table>
      <caption id=${id} class=${showCaption ? "" : "unseen-label"}>${caption}</caption>
      <thead>
        <tr>${columns.map((column) => html`<${Heading} column=${column} />`)}</tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) => html`<tr key=${rowKey(row)}>
            ${columns.map((column) =>
              column.heading
                ? html`<th scope="row">${column.cell(row)}</th>`
                : html`<td class=${column.numeric ? "numeric" : ""}>${column.cell(row)}</td>`,
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
  class=${column.numeric ? "numeric" : ""}
  aria-sort=${column.sort ? column.sorted ?? "none" : undefined}
>
  ${column.sort ? html`<button class="sort" onClick=${column.sort}>${column.title}</button>` : column.title}
</th>`;
