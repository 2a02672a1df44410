-- name: by_trials
select
  execution.evaluation_trial_id, execution.execution, execution.worker, execution.status, execution.reward,
  execution.failure_category, execution.failure_detail, execution.stages, execution.metrics,
  execution.trajectory_artifact_id, execution.started_at, execution.ended_at,
  (
    select coalesce(sum(recorded.step_count), 0)::integer
    from execution_steps recorded
    where recorded.evaluation_trial_id = execution.evaluation_trial_id and recorded.execution = execution.execution
  ) as recorded_step_count
from trial_executions execution
where execution.evaluation_trial_id = any($1::uuid[])
order by execution.evaluation_trial_id, execution.execution;

-- name: is_held
-- Whether execution $2 of a trial still is its latest, and running.
select exists (
  select from evaluation_trials trial where trial.id = $1 and trial.execution = $2 and trial.status = 'running'
) as is_held;

-- name: record
-- Adds what execution $2 of a trial recorded, $4 steps from position $3 on. No row when it is no longer the latest.
-- Positions that are there already stay: the answer to an earlier try was lost.
with held as (
  select trial.id
  from evaluation_trials trial
  where trial.id = $1 and trial.execution = $2 and trial.status = 'running'
  for share
), added as (
  insert into execution_steps (evaluation_trial_id, execution, first_position, step_count, steps)
  select held.id, $2, $3, $4, $5 from held
  on conflict do nothing
)
select true as is_held from held;

-- name: steps
-- Of execution $1 of each trial of $4 the batches that hold the positions $2 to $3.
select recorded.evaluation_trial_id as id, recorded.first_position, recorded.steps
from execution_steps recorded
where recorded.evaluation_trial_id = any($4::uuid[]) and recorded.execution = $1
  and recorded.first_position <= $3::int and recorded.first_position + recorded.step_count > $2::int
order by recorded.evaluation_trial_id, recorded.first_position;
