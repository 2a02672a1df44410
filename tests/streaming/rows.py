"""Rows in numbers that are too slow to make one by one."""

from db.tenant import Tenant
from tests.factory import create_configuration, create_version

# Steps of hex digits, which compress by half only; one attempt a run.
_MANY = """
with run as (
  insert into evaluation_runs (environment_version_id, evaluator_configuration_id, trigger, seed, attempt_count)
  select $1, $2, 'evaluation', 0, 1 from generate_series(1, $3::int)
  returning id
), trial as (
  insert into evaluation_trials
    (evaluation_run_id, environment_version_id, attempt, seed, status, execution, reward, finished_at)
  select id, $1, 1, 0, 'completed', 1, 0.5, now() from run
  returning id, evaluation_run_id
), artifact as (
  insert into trajectory_artifacts (evaluation_trial_id, execution, name, log, steps, step_count)
  select
    trial.id, 1, 'trial-1-trajectory.json', '""',
    json_build_array(json_build_object('step', 1, 'tool', 'mcp', 'command', 'initialize', 'observation', digits.text)),
    1
  from trial
  cross join lateral (
    select string_agg(md5(trial.id::text || number), '') as text from generate_series(1, $4::int / 32) number
  ) digits
)
insert into rollouts (evaluation_trial_id, execution, evaluation_run_id, environment_version_id, seed, reward)
select id, 1, evaluation_run_id, $1, 0, 0.5 from trial
"""


async def create_many(tenant: Tenant, count: int, size: int) -> None:
    """`count` rollouts with reward 0.5, each with one step of `size` characters."""
    version = await create_version(tenant)
    configuration_id = await create_configuration(tenant)
    async with tenant.transaction() as transaction:
        await transaction.connection.execute(_MANY, version.id, configuration_id, count, size)
