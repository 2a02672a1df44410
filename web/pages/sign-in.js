// Sign in: by password here, or by a link that works once; then back to where one was.
import { go, ownPath } from "../shared/address.js";
import { Code } from "../shared/code.js";
import { html, useState } from "../shared/html.js";
import { Page } from "../shared/page.js";
import { signIn } from "../shared/session.js";

const LINK = "agentforge sign-in-link owner@demo.example --organization demo";

/** @param {import("../routes.js").PageProps} props */
export default function SignIn({ query }) {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);

  /** @param {SubmitEvent & { currentTarget: HTMLFormElement }} event */
  async function submit(event) {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    const given = new FormData(event.currentTarget);
    const organization = String(given.get("organization")).trim();
    const refused = await signIn({
      email: String(given.get("email")).trim(),
      password: String(given.get("password")),
      ...(organization && { organization }),
    });
    setBusy(false);
    if (refused) setProblem(refused);
    else go(ownPath(query.get("from")), { replace: true });
  }

  return html`<${Page} title="Sign in to AgentForge">
    ${query.has("link") &&
    html`<p class="error-box" role="alert">
      This sign-in link was used, has expired or is not complete. A link works once, for ten minutes.
    </p>`}
    ${query.has("from") && html`<p>Your session has ended, or there was none. You come back to where you were.</p>`}
    <form class="form" onSubmit=${submit}>
      <label>Email <input name="email" type="email" autocomplete="username" required autofocus /></label>
      <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>
      <label>
        Organization <span class="hint">only if you are in several</span>
        <input name="organization" autocomplete="organization" />
      </label>
      <p class="action-problem" role="alert">${problem}</p>
      <div class="actions"><button class="primary" disabled=${busy}>${busy ? "Signing in…" : "Sign in"}</button></div>
    </form>
    <section>
      <h2>Without a password</h2>
      <p>
        <code>agentforge up</code> prints a link that signs you in. Whoever runs the service can make another one, for
        any member:
      </p>
      <${Code} value=${LINK} />
    </section>
  <//>`;
}
