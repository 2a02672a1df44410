// PostGraphile over the same tables, role and row-level security. Settings come from the environment:
// PGHOST, PGUSER and PGDATABASE as for libpq, PORT, and ORGANIZATION, whose rows are shown.
import { createServer } from "node:http";
import { postgraphile } from "postgraphile";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafserv } from "postgraphile/grafserv/node";
import { extendSchema } from "postgraphile/utils";
import { lambda } from "postgraphile/grafast";

// The same list of objects that AgentForge answers with; the column itself stays there as raw JSON.
const stages = extendSchema({
  typeDefs: /* GraphQL */ `
    type Stage { name: String! value: Float! }
    extend type EvaluationTrial { stageList: [Stage!]! }
  `,
  objects: { EvaluationTrial: { plans: { stageList($trial) { return lambda($trial.get("stages"), parsed, true); } } } },
});
const parsed = (value) => (typeof value === "string" ? JSON.parse(value) : value);

const preset = {
  extends: [PostGraphileAmberPreset],
  plugins: [stages],
  pgServices: [makePgService({ poolConfig: { max: 10 }, schemas: ["public"] })],
  grafast: { context: () => ({ pgSettings: { "agentforge.organization_id": process.env.ORGANIZATION } }) },
  grafserv: { graphqlPath: "/graphql", graphiql: false, watch: false },
};
const serv = postgraphile(preset).createServ(grafserv);
const server = createServer();
await serv.addTo(server);
server.listen(Number(process.env.PORT), "127.0.0.1", () => console.log("ready"));
