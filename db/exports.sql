-- fragment: matches
  not rollout.superseded
  and ($1::uuid is null or rollout.environment_version_id = $1)
  and ($2::uuid is null or rollout.evaluation_run_id = $2)
  and ($3::timestamptz is null or rollout.created_at >= $3)
  and ($4::timestamptz is null or rollout.created_at < $4)

-- fragment: chosen
-- Newest first, below the id $5. The limit, also a null one, keeps this step apart: rows are put in order while they
-- hold no steps.
  select rollout.id, rollout.evaluation_trial_id, rollout.execution, rollout.evaluation_run_id, rollout.seed,
    rollout.reward
  from rollouts rollout
  where ($5::uuid is null or rollout.id < $5)
    and ($7::text = 'all'
      or ($7 = 'successful' and rollout.reward = 1)
      or ($7 = 'failed' and rollout.reward < 1)
      or ($7 = 'recovery' and rollout.reward > 0 and rollout.reward < 1))
    and

-- name: snapshot
-- When the transaction's snapshot was taken.
select now() as taken_at;

-- name: rollouts
-- The text is put together here, so steps go out as stored and no number is read and written again.
select concat(
  '{"schemaVersion":1,"privacyClass":"PRIVATE","format":"',
  case when artifact.steps is null then 'rollout' else 'atif-shaped' end,
  '","rolloutId":"', rollout.id,
  '","seed":', rollout.seed,
  ',"reward":', coalesce(rollout.reward::text, 'null'),
  ',"evaluationRunId":"', rollout.evaluation_run_id,
  '","trajectory":', coalesce(artifact.steps::text, '[]'), '}'
) as line
from (
-- include: chosen
-- include: matches
  order by rollout.id desc
  limit $6::bigint
) rollout
left join lateral (
  -- "offset 0" keeps the planner from reading all artifacts before the first line.
  select artifact.steps
  from trajectory_artifacts artifact
  where artifact.evaluation_trial_id = rollout.evaluation_trial_id and artifact.execution = rollout.execution
    and artifact.step_count > 0
  offset 0
) artifact on true
order by rollout.id desc;

-- name: count_rollouts
select count(*) as lines
from (
-- include: chosen
-- include: matches
  order by rollout.id desc
  limit $6::bigint
) rollout;

-- name: preferences
-- One pair a version, newest version first, below the id $5: of equal scores the newest is preferred and the oldest
-- rejected.
select concat(
  '{"schemaVersion":1,"privacyClass":"PRIVATE","format":"preference-pair","environmentVersionId":"', version.id,
  '","preferred":"', best.id,
  '","rejected":"', worst.id,
  '","preferredReward":', best.reward,
  ',"rejectedReward":', worst.reward, '}'
) as line
from environment_versions version
cross join lateral (
  select rollout.id, rollout.reward
  from rollouts rollout
  where rollout.environment_version_id = version.id and rollout.reward is not null
    and
-- include: matches
  order by rollout.reward desc, rollout.id desc
  limit 1
) best
cross join lateral (
  select rollout.id, rollout.reward
  from rollouts rollout
  where rollout.environment_version_id = version.id and rollout.reward is not null
    and
-- include: matches
  order by rollout.reward, rollout.id
  limit 1
) worst
where best.reward > worst.reward and ($5::uuid is null or version.id < $5)
order by version.id desc
limit $6::bigint;

-- name: count_preferences
select count(*) as lines from (
select version.id
from environment_versions version
cross join lateral (
  select rollout.id, rollout.reward
  from rollouts rollout
  where rollout.environment_version_id = version.id and rollout.reward is not null
    and
-- include: matches
  order by rollout.reward desc, rollout.id desc
  limit 1
) best
cross join lateral (
  select rollout.id, rollout.reward
  from rollouts rollout
  where rollout.environment_version_id = version.id and rollout.reward is not null
    and
-- include: matches
  order by rollout.reward, rollout.id
  limit 1
) worst
where best.reward > worst.reward and ($5::uuid is null or version.id < $5)
order by version.id desc
limit $6::bigint
) pair;

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
