// Text to take away: commands, addresses, ids, digests.
import { html, useEffect, useState } from "./html.js";

const SHOWN = 2_000;

/**
 * A button that copies. It says so when it has, and when it could not.
 * @param {{ value: string, label?: string }} props
 */
export function Copy({ value, label = "Copy" }) {
  const [told, setTold] = useState("");
  useEffect(() => {
    const timer = told ? setTimeout(() => setTold(""), SHOWN) : undefined;
    return () => clearTimeout(timer);
  }, [told]);
  async function copy() {
    // Browsers offer the clipboard to pages from https and from this machine only.
    const copied = await navigator.clipboard?.writeText(value).then(
      () => true,
      () => false,
    );
    setTold(copied ? "Copied" : "Select and copy it");
  }
  return html`<button class="copy quiet" onClick=${copy} aria-label=${`${label}: ${value.slice(0, 80)}`}>
    <span aria-live="polite">${told || label}</span>
  </button>`;
}

/**
 * A block of code with its button.
 * @param {{ value: string, label?: string }} props
 */
export const Code = ({ value, label }) => html`<div class="code">
  <pre tabindex="0" aria-label=${label ?? "Command"} role="region"><code>${value}</code></pre>
  <${Copy} value=${value} />
</div>`;

/**
 * An id or digest, short in sight and whole when copied.
 * @param {{ value: string, characters?: number, label?: string }} props
 */
export const Short = ({ value, characters = 12, label = "Copy" }) => html`<span class="short">
  <code title=${value}>${value.slice(0, characters)}…</code><${Copy} value=${value} label=${label} />
</span>`;
