"""Fills a fresh database with ended runs of eight trials each, as many as asked for."""

from typing import Final
from uuid import UUID

import asyncpg

RUNS_OF_VERSION: Final = 50
TRIALS_OF_RUN: Final = 8

_STATEMENTS = """
-- Rows of the past: nobody listens to them, and their references are right by construction.
set session_replication_role = replica;
insert into environments (organization_id, slug, name)
  select $org, 'shop-' || number, 'Shop ' || number from generate_series(1, $versions / 10 + 1) number;
insert into evaluator_configurations (organization_id, name, attempt_count, agent_command)
  values ($org, 'agent', 8, array['agent', '--task', '{task}']);
insert into environment_versions (organization_id, environment_id, version, digest, manifest)
  select $org, environment.id, number, encode(sha256((environment.slug || number)::bytea), 'hex'), '{"task": "Sell"}'
  from environments environment, generate_series(1, 10) number
  where environment.organization_id = $org order by environment.id, number limit $versions;
insert into evaluation_runs (organization_id, environment_version_id, evaluator_configuration_id, trigger, seed,
  attempt_count, status, pass_at_k, unscored_attempts, started_at, finished_at)
  select $org, version.id, configuration.id, 'evaluation', number, 8, 'completed',
    (select format('[%s]', string_agg(format('{"k":%s,"estimate":%s,"passHatK":%s}', k, k / 8.0, 1.0 / k), ','))::json
     from generate_series(1, 8) k), 0, now(), now()
  from environment_versions version, evaluator_configurations configuration, generate_series(1, $runs) number
  where version.organization_id = $org and configuration.organization_id = $org;
insert into evaluation_trials (organization_id, evaluation_run_id, environment_version_id, attempt, seed, status,
  execution, reward, failure_category, stages, metrics, started_at, finished_at)
  select $org, run.id, run.environment_version_id, attempt, run.seed, 'completed', 1,
    (attempt * run.seed % 5) / 4.0,
    case when attempt * run.seed % 5 < 4 then (array['checkout_incomplete', 'wrong_quantity', 'nothing_done'])[
      (attempt + run.seed) % 3 + 1] end,
    (select format('[%s]', string_agg(
      format('{"name":"stage_%s","value":%s}', stage, ((attempt * run.seed + ordinal) % 5 / 4.0)::float8), ','
      order by ordinal))::json
     from unnest(array['login', 'inventory', 'cart', 'checkout']) with ordinality listed (stage, ordinal)),
    '{"tokens": 1200}', now(), now()
  from evaluation_runs run, generate_series(1, $attempts) attempt where run.organization_id = $org;
insert into environment_version_stages (organization_id, environment_version_id, stage)
  select organization_id, id, stage from environment_versions,
    unnest(array['stage_login', 'stage_inventory', 'stage_cart', 'stage_checkout']) stage where organization_id = $org;
insert into rollouts (organization_id, evaluation_trial_id, execution, evaluation_run_id, environment_version_id,
  seed, reward)
  select $org, id, execution, evaluation_run_id, environment_version_id, seed, reward from evaluation_trials
  where organization_id = $org;
reset session_replication_role;
"""


async def fill(superuser_url: str, organization_id: UUID, trials: int) -> None:
    """As many versions of 50 runs of 8 trials as make `trials`; then statistics, and a checkpoint."""
    values = {
        "org": f"'{organization_id}'::uuid",
        "versions": str(max(1, trials // (RUNS_OF_VERSION * TRIALS_OF_RUN))),
        "runs": str(RUNS_OF_VERSION),
        "attempts": str(TRIALS_OF_RUN),
    }
    text = _STATEMENTS
    for name, value in values.items():
        text = text.replace(f"${name}", value)
    connection = await asyncpg.connect(superuser_url)
    try:
        await connection.execute(text)
        await connection.execute("vacuum analyze")
        await connection.execute("checkpoint")
    finally:
        await connection.close()
