-- fragment: matches
  ($1::uuid is null or trial.environment_version_id = $1)
  and ($2::uuid is null or exists (
    select from environment_versions version
    where version.id = trial.environment_version_id and version.environment_id = $2))
  and ($3::uuid is null or exists (
    select from evaluation_runs run
    where run.id = trial.evaluation_run_id and run.evaluator_configuration_id = $3))
  and ($4::timestamptz is null or trial.created_at > $4)
  and ($5::timestamptz is null or trial.created_at < $5)

-- fragment: gap_columns
  trial.failure_category, count(*) as trials, (array_agg(trial.id order by trial.id desc))[1] as latest_trial_id

-- fragment: reward_columns
  stage.name as stage, count(*) as trials, avg(stage.value) as mean, min(stage.value) as min, max(stage.value) as max,
  count(*) filter (where stage.value = 1) as "full"

-- name: capability_gaps
-- Ended trials by category; the row without a category counts those that have none.
select
-- include: gap_columns
from evaluation_trials trial
where trial.status not in ('queued', 'running')
  and
-- include: matches
group by trial.failure_category
order by trials desc, trial.failure_category;

-- name: capability_gaps_of_versions
select trial.environment_version_id,
-- include: gap_columns
from evaluation_trials trial
where trial.status not in ('queued', 'running') and trial.environment_version_id = any($1::uuid[])
group by trial.environment_version_id, trial.failure_category
order by trial.environment_version_id, trials desc, trial.failure_category;

-- name: partial_rewards
select
-- include: reward_columns
from evaluation_trials trial
cross join lateral json_to_recordset(trial.stages) as stage (name text, value double precision)
where
-- include: matches
group by stage.name
order by stage.name;

-- name: partial_rewards_of_versions
select trial.environment_version_id,
-- include: reward_columns
from evaluation_trials trial
cross join lateral json_to_recordset(trial.stages) as stage (name text, value double precision)
where trial.environment_version_id = any($1::uuid[])
group by trial.environment_version_id, stage.name
order by trial.environment_version_id, stage.name;
