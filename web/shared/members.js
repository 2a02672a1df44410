// Members of the organization and their roles; owners change them.
import { ActionProblem, useAction } from "./action.js";
import { Confirm } from "./dialog.js";
import { graphql } from "./graph.js";
import { html, useState } from "./html.js";
import { viewer } from "./session.js";
import { Table } from "./table.js";
import { Text } from "./text.js";
import { Time } from "./time.js";

const ADD = /** @type {import("./graph.js").Operation<"AddMember">} */ (graphql`
  mutation AddMember($input: AddMemberInput!) {
    addMember(input: $input) { ... on Member { id email role createdAt } ... on Problem { message } }
  }
`);

const REMOVE = /** @type {import("./graph.js").Operation<"RemoveMember">} */ (graphql`
  mutation RemoveMember($input: RemoveMemberInput!) {
    removeMember(input: $input) { ... on Organization { id } ... on Problem { message } }
  }
`);

const ROLES = /** @type {const} */ (["OWNER", "MEMBER", "VIEWER"]);

/** @typedef {{ id: string, email: string, role: string, createdAt: string }} Member */

/** @param {{ members: Member[], owner: boolean, refetch: () => void }} props */
export function Members({ members, owner, refetch }) {
  const change = useAction(ADD);
  const [told, setTold] = useState("");

  /** @param {string} email @param {typeof ROLES[number]} role */
  async function put(email, role) {
    const member = await change.run({ email, role });
    setTold(member ? `${member.email} is ${role.toLowerCase()} now.` : "");
    if (member) refetch();
    return member !== null;
  }

  /** @param {SubmitEvent & { currentTarget: HTMLFormElement }} event */
  async function add(event) {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    if (await put(String(given.get("email")).trim(), /** @type {any} */ (given.get("role")))) form.reset();
  }

  const columns = /** @type {import("./table.js").Column<Member>[]} */ ([
    { title: "Person", heading: true, cell: ({ email }) => html`<${Text} value=${email} />` },
    { title: "Role", cell: (member) => html`<${Role} member=${member} owner=${owner} onRole=${put} />` },
    { title: "Member", cell: ({ createdAt }) => html`since <${Time} at=${createdAt} />` },
  ]);
  if (owner) {
    columns.push({ title: "Remove", cell: (member) => html`<${Remove} member=${member} refetch=${refetch} />` });
  }
  return html`<section>
    <h2>Members</h2>
    <${Table} stacks caption="Members" columns=${columns} rows=${members} rowKey=${(/** @type {Member} */ { id }) => id} />
    <p role="status" class="facts">${told}</p>
    <${ActionProblem} problem=${change.problem} />
    ${owner &&
    html`<form class="line-form" onSubmit=${add} aria-label="Add a member">
        <label>Email <input name="email" type="email" required autocomplete="off" /></label>
        <label>Role <${Roles} name="role" value="MEMBER" /></label>
        <button disabled=${change.busy}>Add member</button>
      </form>
      <p class="hint">
        A new member signs in with a link: <code>agentforge sign-in-link EMAIL --organization SLUG</code>. A member added
        again gets the role that is chosen.
      </p>`}
  </section>`;
}

/** @param {{ name?: string, value: string, label?: string, onChange?: (event: any) => void }} props */
const Roles = ({ name, value, label, onChange }) => html`<select name=${name} aria-label=${label} value=${value} onChange=${onChange}>
  ${ROLES.map((role) => html`<option value=${role} selected=${role === value}>${role.toLowerCase()}</option>`)}
</select>`;

/**
 * @param {{ member: Member, owner: boolean, onRole: (email: string, role: typeof ROLES[number]) => void }} props
 */
function Role({ member, owner, onRole }) {
  if (!owner || member.id === viewer.value?.id) return member.role.toLowerCase();
  return html`<${Roles}
    value=${member.role}
    label=${`Role of ${member.email}`}
    onChange=${(/** @type {any} */ event) => onRole(member.email, event.currentTarget.value)}
  />`;
}

/** @param {{ member: Member, refetch: () => void }} props */
function Remove({ member, refetch }) {
  const [asking, setAsking] = useState(false);
  const { busy, problem, run } = useAction(REMOVE);

  async function confirmed() {
    const removed = await run({ memberId: member.id });
    setAsking(false);
    if (removed) refetch();
  }

  if (member.id === viewer.value?.id) return "you";
  return html`<button class="quiet" aria-label=${`Remove ${member.email}`} onClick=${() => setAsking(true)}>Remove</button>
    <${ActionProblem} problem=${problem} />
    <${Confirm} open=${asking} title="Remove this member?" confirm="Remove" busy=${busy} onConfirm=${confirmed} onClose=${() => setAsking(false)}>
      <p><${Text} value=${member.email} /> is signed out at once. Tokens are the organization's, and stay.</p>
    <//>`;
}
