// A modal dialog of the browser's own: it keeps the keyboard inside, closes on Escape and gives the focus back.
import { html, useEffect, useId, useRef } from "./html.js";

/**
 * @param {{ open: boolean, title: string, onClose: () => void, children: import("./html.js").Children }} props
 */
export function Dialog({ open, title, onClose, children }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  useEffect(() => {
    if (open) element.current?.showModal();
    else element.current?.close();
  }, [open]);
  return html`<dialog ref=${element} aria-labelledby=${id} onClose=${onClose}>
    ${open && html`<h2 id=${id}>${title}</h2>${children}`}
  </dialog>`;
}

/**
 * Asks before something is done that cannot be taken back.
 * @param {{ open: boolean, title: string, confirm: string, busy?: boolean, onConfirm: () => void, onClose: () => void,
 *   children: import("./html.js").Children }} props
 */
export const Confirm = ({ open, title, confirm, busy = false, onConfirm, onClose, children }) => html`<${Dialog}
  open=${open}
  title=${title}
  onClose=${onClose}
>
  ${children}
  <div class="actions">
    <button class="danger" disabled=${busy} onClick=${onConfirm}>${confirm}</button>
    <button onClick=${onClose}>Keep</button>
  </div>
<//>`;
