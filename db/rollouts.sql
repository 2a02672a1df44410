-- fragment: columns
  rollout.id, rollout.evaluation_trial_id, rollout.evaluation_run_id, rollout.environment_version_id, rollout.seed,
  rollout.reward, rollout.superseded, rollout.created_at

-- fragment: matches
  -- The classes of section "outcomes": successful, failed, recovery; null is all.
  ($1::text is null
    or ($1 = 'successful' and rollout.reward = 1)
    or ($1 = 'failed' and rollout.reward < 1)
    or ($1 = 'recovery' and rollout.reward > 0 and rollout.reward < 1))
  and not rollout.superseded
  and ($2::uuid is null or rollout.environment_version_id = $2)
  and ($3::uuid is null or rollout.evaluation_run_id = $3)
  and ($4::timestamptz is null or rollout.created_at > $4)
  and ($5::timestamptz is null or rollout.created_at < $5)

-- name: by_ids
-- A superseded one too, with the stages of its own execution: somebody may have exported it before.
select coalesce(earlier.stages, trial.stages) as stages,
-- include: columns
from rollouts rollout
join evaluation_trials trial on trial.id = rollout.evaluation_trial_id
left join trial_executions earlier on rollout.superseded
  and earlier.evaluation_trial_id = rollout.evaluation_trial_id and earlier.execution = rollout.execution
where rollout.id = any($1::uuid[]);

-- name: by_trials
select trial.stages,
-- include: columns
from rollouts rollout
join evaluation_trials trial on trial.id = rollout.evaluation_trial_id
where rollout.evaluation_trial_id = any($1::uuid[]) and not rollout.superseded;

-- name: page
-- Newest first, below the id $6.
select trial.stages,
-- include: columns
from rollouts rollout
join evaluation_trials trial on trial.id = rollout.evaluation_trial_id
where
-- include: matches
  and ($6::uuid is null or rollout.id < $6)
order by rollout.id desc
limit $7::int;

-- name: count
select count(*) as total
from rollouts rollout
where
-- include: matches
;

-- name: create
insert into rollouts (evaluation_trial_id, execution, evaluation_run_id, environment_version_id, seed, reward)
select trial.id, trial.execution, trial.evaluation_run_id, trial.environment_version_id, trial.seed, trial.reward
from evaluation_trials trial
where trial.id = $1
returning id;

-- name: supersede
-- What came of executions of the trials $1 that are done again counts no more.
update rollouts set superseded = true
where evaluation_trial_id = any($1::uuid[]) and not superseded
returning id;

-- name: preferences_of_versions
-- Highest against lowest; of equal scores the newest is preferred and the oldest rejected. One index, read at both ends.
select
  version.id as environment_version_id, best.id as preferred, worst.id as rejected,
  best.reward as preferred_reward, worst.reward as rejected_reward
from unnest($1::uuid[]) version (id)
cross join lateral (
  select rollout.id, rollout.reward
  from rollouts rollout
  where rollout.environment_version_id = version.id and rollout.reward is not null and not rollout.superseded
  order by rollout.reward desc, rollout.id desc
  limit 1
) best
cross join lateral (
  select rollout.id, rollout.reward
  from rollouts rollout
  where rollout.environment_version_id = version.id and rollout.reward is not null and not rollout.superseded
  order by rollout.reward, rollout.id
  limit 1
) worst
where best.reward > worst.reward;
