// Settings: who is in the organization, which programs may act for it, what left it, and what is running.
import { AUDITS, ExportAudits } from "../shared/audits.js";
import { graphql } from "../shared/graph.js";
import { html } from "../shared/html.js";
import { askViewer } from "../shared/layout.js";
import { Members } from "../shared/members.js";
import { Page } from "../shared/page.js";
import { Answered, ErrorBox, Loading } from "../shared/problem.js";
import { useQuery } from "../shared/query.js";
import { viewer, viewerError } from "../shared/session.js";
import { Text } from "../shared/text.js";
import { Tokens } from "../shared/tokens.js";

const SETTINGS = /** @type {import("../shared/graph.js").Operation<"Settings">} */ (graphql`
  query Settings($owner: Boolean!) {
    serviceVersion
    viewer {
      organization {
        id name slug
        members(first: 200) { edges { node { id email role createdAt } } }
        apiTokens(first: 200) @include(if: $owner) {
          edges { node { id name role createdAt expiresAt revokedAt } }
        }
        exportAudits(first: 50) @include(if: $owner) { ...Audits }
      }
    }
  }
  ${AUDITS}
`);

/** @typedef {import("../shared/graph.js").Result<"Settings">} Data */

export default function Settings() {
  return html`<${Page} title="Settings">
    ${viewer.value
      ? html`<${Organization} owner=${viewer.value.role === "OWNER"} />`
      : viewerError.value
        ? html`<${ErrorBox} error=${viewerError.value} retry=${askViewer} />`
        : html`<${Loading} />`}
  <//>`;
}

/** @param {{ owner: boolean }} props */
function Organization({ owner }) {
  const answer = useQuery(SETTINGS, { owner });
  return html`<${Answered} answer=${answer}>
    ${(/** @type {Data} */ { serviceVersion, viewer: { organization } }) => html`
      <p class="lead">
        <${Text} value=${organization.name} /> (<code>${organization.slug}</code>), on AgentForge ${serviceVersion}
      </p>
      <${Members} members=${organization.members.edges.map(({ node }) => node)} owner=${owner} refetch=${answer.refetch} />
      ${organization.apiTokens
        ? html`<${Tokens} tokens=${organization.apiTokens.edges.map(({ node }) => node)} refetch=${answer.refetch} />`
        : html`<section><h2>Tokens</h2><p>Only owners see and make tokens.</p></section>`}
      ${organization.exportAudits && html`<${ExportAudits} audits=${organization.exportAudits} />`}
    `}
  <//>`;
}
