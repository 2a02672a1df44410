-- fragment: matches
  not rollout.superseded
  and ($1::uuid is null or rollout.environment_version_id = $1)
  and ($2::uuid is null or rollout.evaluation_run_id = $2)
  and ($3::timestamptz is null or rollout.created_at >= $3)
  and ($4::timestamptz is null or rollout.created_at < $4)

-- fragment: chosen
-- Newest first, below the id $5. The limit, also a null one, keeps this step apart: rows are put in order while they
-- hold no steps.
  select rollout.id, rollout.evaluation_trial_id, rollout.execution, rollout.evaluation_run_id,
    rollout.environment_version_id, rollout.seed, rollout.reward
  from rollouts rollout
  where ($5::uuid is null or rollout.id < $5)
    and ($7::text = 'all'
      or ($7 = 'successful' and rollout.reward = 1)
      or ($7 = 'failed' and rollout.reward < 1)
      or ($7 = 'recovery' and rollout.reward > 0 and rollout.reward < 1))
    and

-- fragment: facts
  '"rolloutId":"', rollout.id,
  '","seed":', rollout.seed,
  ',"reward":', coalesce(rollout.reward::text, 'null'),
  ',"evaluationRunId":"', rollout.evaluation_run_id, '"'

-- fragment: from_chosen
from (
-- include: chosen
-- include: matches
  order by rollout.id desc
  limit $6::bigint
) rollout

-- fragment: from_best_and_worst
-- Of each version below the id $5; of equal scores the newest is best and the oldest worst.
from environment_versions version
cross join lateral (
  select rollout.id, rollout.reward, rollout.evaluation_trial_id, rollout.execution
  from rollouts rollout
  where rollout.environment_version_id = version.id and rollout.reward is not null
    and
-- include: matches
  order by rollout.reward desc, rollout.id desc
  limit 1
) best
cross join lateral (
  select rollout.id, rollout.reward, rollout.evaluation_trial_id, rollout.execution
  from rollouts rollout
  where rollout.environment_version_id = version.id and rollout.reward is not null
    and
-- include: matches
  order by rollout.reward, rollout.id
  limit 1
) worst

-- name: snapshot
-- When the transaction's snapshot was taken.
select now() as taken_at;

-- name: rollouts
-- The text is put together here, so steps go out as stored and no number is read and written again.
select concat(
  '{"schemaVersion":1,"privacyClass":"PRIVATE","format":"',
  case when artifact.steps is null then 'rollout' else 'atif-shaped' end, '",',
-- include: facts
  , ',"trajectory":', coalesce(artifact.steps::text, '[]'), '}'
) as line
-- include: from_chosen
left join lateral (
  -- "offset 0" keeps the planner from reading all artifacts before the first line.
  select artifact.steps
  from trajectory_artifacts artifact
  where artifact.evaluation_trial_id = rollout.evaluation_trial_id and artifact.execution = rollout.execution
    and artifact.step_count > 0
  offset 0
) artifact on true
order by rollout.id desc;

-- fragment: recorded_row
-- A row to be made a line of: an array of the facts of its line as text, of what it was made with, and of its steps.
concat(
    '[', to_json(concat(
-- include: facts
    )),
    ',"', rollout.environment_version_id,
    '",', trial.attempt, ',', rollout.execution,
    ',', to_json(configuration.name), ',"', configuration.id,
    '",', coalesce(version.task::text, 'null'),
    ',', coalesce(artifact.steps::text, '[]'), ']'
  )

-- fragment: recorded_from
-- include: from_chosen
-- "offset 0" keeps each of these a look-up by its id.
left join lateral (
  select trial.attempt from evaluation_trials trial where trial.id = rollout.evaluation_trial_id offset 0
) trial on true
left join lateral (
  select version.manifest -> 'task' as task
  from environment_versions version where version.id = rollout.environment_version_id
  offset 0
) version on true
left join lateral (
  select run.evaluator_configuration_id as id from evaluation_runs run where run.id = rollout.evaluation_run_id offset 0
) run on true
left join lateral (
  select configuration.id, configuration.name
  from evaluator_configurations configuration where configuration.id = run.id
  offset 0
) configuration on true
left join lateral (
  select artifact.id, artifact.steps, artifact.agent_trajectory
  from trajectory_artifacts artifact
  where artifact.evaluation_trial_id = rollout.evaluation_trial_id and artifact.execution = rollout.execution
  offset 0
) artifact on true

-- name: recorded
select
-- include: recorded_row
as line
-- include: recorded_from
order by rollout.id desc;

-- name: atif
-- An object is a line: with a valid document that the agent left, as it is. An array is to be made one.
select case when own.document is null then
-- include: recorded_row
else concat(
  '{"schemaVersion":1,"privacyClass":"PRIVATE","format":"atif",',
-- include: facts
  , ',"trajectory":', own.document, '}'
) end as line
-- include: recorded_from
left join lateral (
  select convert_from(artifact.agent_trajectory, 'UTF8') as document
  from atif_verdicts verdict
  where verdict.trajectory_artifact_id = artifact.id and verdict.valid and verdict.is_json
    and artifact.agent_trajectory is not null
  offset 0
) own on true
order by rollout.id desc;

-- name: count_without_steps
select count(*) as lines
-- include: from_chosen
left join trajectory_artifacts artifact
  on artifact.evaluation_trial_id = rollout.evaluation_trial_id and artifact.execution = rollout.execution
where coalesce(artifact.step_count, 0) = 0;

-- name: count_rollouts
select count(*) as lines
from (
-- include: chosen
-- include: matches
  order by rollout.id desc
  limit $6::bigint
) rollout;

-- name: preferences
-- One pair a version, newest version first.
select concat(
  '{"schemaVersion":1,"privacyClass":"PRIVATE","format":"preference-pair","environmentVersionId":"', version.id,
  '","preferred":"', best.id,
  '","rejected":"', worst.id,
  '","preferredReward":', best.reward,
  ',"rejectedReward":', worst.reward, '}'
) as line
-- include: from_best_and_worst
where best.reward > worst.reward and ($5::uuid is null or version.id < $5)
order by version.id desc
limit $6::bigint;

-- name: count_preferences
select count(*) as lines from (
select version.id
-- include: from_best_and_worst
where best.reward > worst.reward and ($5::uuid is null or version.id < $5)
order by version.id desc
limit $6::bigint
) pair;

-- fragment: pair
-- As `recorded_row`, with the steps of both.
concat(
    '[', to_json(concat(
      '"pairId":"', best.id, ':', worst.id,
      '","environmentVersionId":"', version.id,
      '","chosenRolloutId":"', best.id,
      '","rejectedRolloutId":"', worst.id,
      '","chosenReward":', best.reward,
      ',"rejectedReward":', worst.reward
    )),
    ',', coalesce((version.manifest -> 'task')::text, 'null'),
    ',', coalesce(chosen.steps::text, '[]'),
    ',', coalesce(refused.steps::text, '[]'), ']'
  ) as line

-- fragment: steps_of_both
left join lateral (
  select artifact.steps from trajectory_artifacts artifact
  where artifact.evaluation_trial_id = best.evaluation_trial_id and artifact.execution = best.execution
  offset 0
) chosen on true
left join lateral (
  select artifact.steps from trajectory_artifacts artifact
  where artifact.evaluation_trial_id = worst.evaluation_trial_id and artifact.execution = worst.execution
  offset 0
) refused on true

-- name: pairs_extreme
-- The pairs of `preferences`.
select
-- include: pair
-- include: from_best_and_worst
-- include: steps_of_both
where best.reward > worst.reward and ($5::uuid is null or version.id < $5)
order by version.id desc
limit $6::bigint;

-- name: pairs_all
-- Of each version the $8 pairs of different rewards that are furthest apart, by $7 at least; put in order while they
-- hold no steps. Margins are decimal, as rewards are read: in binary 0.3 and 0.1 are less than 0.2 apart. That makes 2.5 s
-- of 1 s for a version of 3,000 rollouts, all with different rewards.
select
-- include: pair
from (
  select version.id as version_id, pair.best_id, pair.worst_id, pair.margin
  from environment_versions version
  cross join lateral (
    select high.id as best_id, low.id as worst_id, high.exact - low.exact as margin
    from (
      select rollout.id, rollout.reward, rollout.reward::numeric as exact from rollouts rollout
      where rollout.environment_version_id = version.id and rollout.reward is not null
        and
-- include: matches
      order by rollout.reward desc, rollout.id desc
      offset 0
    ) high
    join (
      select rollout.id, rollout.reward, rollout.reward::numeric as exact from rollouts rollout
      where rollout.environment_version_id = version.id and rollout.reward is not null
        and
-- include: matches
      order by rollout.reward, rollout.id
      offset 0
    ) low on high.reward > low.reward and high.exact - low.exact >= $7::double precision::numeric
    order by 3 desc, 1 desc, 2
    limit $8::bigint
  ) pair
  where $5::uuid is null or version.id < $5
  order by version.id desc, pair.margin desc, pair.best_id desc, pair.worst_id
  limit $6::bigint
) pair
cross join lateral (
  select version.id, version.manifest from environment_versions version where version.id = pair.version_id offset 0
) version
cross join lateral (
  select rollout.id, rollout.reward, rollout.evaluation_trial_id, rollout.execution
  from rollouts rollout where rollout.id = pair.best_id
  offset 0
) best
cross join lateral (
  select rollout.id, rollout.reward, rollout.evaluation_trial_id, rollout.execution
  from rollouts rollout where rollout.id = pair.worst_id
  offset 0
) worst
-- include: steps_of_both
order by pair.version_id desc, pair.margin desc, pair.best_id desc, pair.worst_id;

-- name: rollout
select concat(
  '{"id":"', rollout.id,
  '","seed":', rollout.seed,
  ',"reward":', coalesce(rollout.reward::text, 'null'),
  ',"environmentVersionId":"', rollout.environment_version_id,
  '","evaluationRunId":"', rollout.evaluation_run_id,
  '","stages":{', (
    select string_agg(concat(stage.value -> 'name', ':', stage.value -> 'value'), ',' order by stage.position)
    from json_array_elements(trial.stages) with ordinality as stage (value, position)
  ), '}}'
) as line
from rollouts rollout
join evaluation_trials trial on trial.id = rollout.evaluation_trial_id
where rollout.id = $1 and not rollout.superseded;
