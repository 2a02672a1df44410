// Tokens that programs sign in with. A new one's secret is shown once, here, and is nowhere afterwards.
import { ActionProblem, useAction } from "./action.js";
import { Code } from "./code.js";
import { Confirm } from "./dialog.js";
import { graphql } from "./graph.js";
import { html, useState } from "./html.js";
import { Table } from "./table.js";
import { Text } from "./text.js";
import { Time } from "./time.js";

const CREATE = /** @type {import("./graph.js").Operation<"CreateToken">} */ (graphql`
  mutation CreateToken($input: CreateApiTokenInput!) {
    createApiToken(input: $input) { ... on ApiToken { id name secret } ... on Problem { message } }
  }
`);

const REVOKE = /** @type {import("./graph.js").Operation<"RevokeToken">} */ (graphql`
  mutation RevokeToken($input: RevokeApiTokenInput!) {
    revokeApiToken(input: $input) { ... on ApiToken { id } ... on Problem { message } }
  }
`);

/** @typedef {{ id: string, name: string, role: string, createdAt: string, expiresAt: string, revokedAt: string | null }} Token */

/** @param {{ tokens: Token[], refetch: () => void }} props */
export function Tokens({ tokens, refetch }) {
  const { busy, problem, run } = useAction(CREATE);
  const [secret, setSecret] = useState("");

  /** @param {SubmitEvent & { currentTarget: HTMLFormElement }} event */
  async function create(event) {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    const role = /** @type {any} */ (given.get("role"));
    const token = await run({ name: String(given.get("name")).trim(), role, days: Number(given.get("days")) });
    setSecret(token?.secret ?? "");
    if (token) {
      form.reset();
      refetch();
    }
  }

  const columns = /** @type {import("./table.js").Column<Token>[]} */ ([
    { title: "Token", heading: true, cell: ({ name }) => html`<${Text} value=${name} />` },
    { title: "Role", cell: ({ role }) => role.toLowerCase() },
    { title: "Created", cell: ({ createdAt }) => html`<${Time} at=${createdAt} />` },
    { title: "Ends", cell: ({ expiresAt }) => html`<time datetime=${expiresAt}>${expiresAt.slice(0, 10)}</time>` },
    { title: "State", cell: (token) => html`<${State} token=${token} refetch=${refetch} />` },
  ]);
  return html`<section>
    <h2>Tokens</h2>
    <${Table} stacks caption="Tokens" columns=${columns} rows=${tokens} rowKey=${(/** @type {Token} */ { id }) => id} />
    <form class="line-form" onSubmit=${create} aria-label="Create a token">
      <label>Name <input name="name" required autocomplete="off" /></label>
      <label>
        Role
        <select name="role">
          <option value="MEMBER">member</option>
          <option value="VIEWER">viewer</option>
          <option value="WORKER">worker</option>
          <option value="OWNER">owner</option>
        </select>
      </label>
      <label>Days <input name="days" type="number" min="1" max="3650" value="90" required /></label>
      <button disabled=${busy}>Create token</button>
    </form>
    <${ActionProblem} problem=${problem} />
    <div role="status">
      ${secret &&
      html`<p><strong>Copy it now.</strong> It is shown this once; only its hash is kept.</p>
        <${Code} value=${secret} label="The new token" />`}
    </div>
  </section>`;
}

/** @param {{ token: Token, refetch: () => void }} props */
function State({ token, refetch }) {
  const [asking, setAsking] = useState(false);
  const { busy, problem, run } = useAction(REVOKE);

  async function confirmed() {
    const revoked = await run({ apiTokenId: token.id });
    setAsking(false);
    if (revoked) refetch();
  }

  if (token.revokedAt) return html`revoked <${Time} at=${token.revokedAt} />`;
  if (new Date(token.expiresAt).getTime() < Date.now()) return "ended";
  return html`valid
    <button class="quiet" aria-label=${`Revoke ${token.name}`} onClick=${() => setAsking(true)}>Revoke</button>
    <${ActionProblem} problem=${problem} />
    <${Confirm} open=${asking} title="Revoke this token?" confirm="Revoke" busy=${busy} onConfirm=${confirmed} onClose=${() => setAsking(false)}>
      <p>Programs that use <${Text} value=${token.name} /> are refused at once.</p>
    <//>`;
}
