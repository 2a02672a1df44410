-- fragment: columns
  trial.id, trial.evaluation_run_id, trial.environment_version_id, trial.attempt, trial.seed, trial.status,
  trial.execution, trial.lost_executions, trial.reward, trial.failure_category, trial.failure_detail, trial.stages,
  trial.metrics, trial.redactions, trial.trajectory_artifact_id, trial.job_id, trial.created_at, trial.started_at,
  trial.finished_at

-- fragment: matches
  ($1::uuid is null or trial.environment_version_id = $1)
  and ($2::uuid is null or trial.evaluation_run_id = $2)
  and ($3::text[] is null or trial.status = any($3))
  and ($4::text[] is null or trial.failure_category = any($4))
  and ($5::boolean is null or (trial.reward is not null) = $5)
  and ($6::double precision is null or trial.reward >= $6)
  and ($7::double precision is null or trial.reward < $7)
  and ($8::text is null or (trial.environment_version_id in (
    select known.environment_version_id from environment_version_stages known where known.stage = $8
  ) and exists (
    select from json_to_recordset(trial.stages) as stage (name text, value double precision)
    where stage.name = $8 and ($9::double precision is null or stage.value < $9)
  )))
  and ($10::timestamptz is null or trial.created_at > $10)
  and ($11::timestamptz is null or trial.created_at < $11)
  and ($12::text is null or trial.id = any(array(select found.id from trials_with_words($12) found (id))))

-- name: by_ids
select
-- include: columns
from evaluation_trials trial
where trial.id = any($1::uuid[]);

-- name: by_runs
select
-- include: columns
from evaluation_trials trial
where trial.evaluation_run_id = any($1::uuid[])
order by trial.evaluation_run_id, trial.attempt;

-- name: now
select now() as moment;

-- name: finished_since
-- Of version $2, or of all: what finished after $1, or then with an id after $3, in that order.
select
-- include: columns
from evaluation_trials trial
where (trial.finished_at, trial.id) > ($1::timestamptz, $3::uuid) and ($2::uuid is null or trial.environment_version_id = $2)
order by trial.finished_at, trial.id
limit $4::int;

-- name: page_newest
select
-- include: columns
from evaluation_trials trial
where
-- include: matches
  and ($13::uuid is null or trial.id < $13)
  and $14::double precision is null
order by trial.id desc
limit $15::int;

-- name: page_oldest
select
-- include: columns
from evaluation_trials trial
where
-- include: matches
  and ($13::uuid is null or trial.id > $13)
  and $14::double precision is null
order by trial.id
limit $15::int;

-- name: page_reward_highest
-- Unscored trials come last; a cursor among them has an id and no reward. Row-level security lets no condition reach an
-- index that calls a function or has coalesce, so it is written out.
select
-- include: columns
from evaluation_trials trial
where
-- include: matches
  and ($13::uuid is null
    or (case when trial.reward is null then '-infinity' else trial.reward end, trial.id)
      < (coalesce($14::double precision, '-infinity'), $13))
order by case when trial.reward is null then '-infinity' else trial.reward end desc, trial.id desc
limit $15::int;

-- name: page_reward_lowest
select
-- include: columns
from evaluation_trials trial
where
-- include: matches
  and ($13::uuid is null
    or (case when trial.reward is null then 'infinity' else trial.reward end, trial.id)
      > (coalesce($14::double precision, 'infinity'), $13))
order by case when trial.reward is null then 'infinity' else trial.reward end, trial.id
limit $15::int;

-- name: count
select count(*) as total
from evaluation_trials trial
where
-- include: matches
;

-- name: page_of_versions
-- For each version of $15 its trials, newest first.
select
-- include: columns
from unnest($15::uuid[]) parent (id)
cross join lateral (
  select *
  from evaluation_trials trial
  where trial.environment_version_id = parent.id
    and
-- include: matches
    and ($13::uuid is null or trial.id < $13)
  order by trial.id desc
  limit $14::int
) trial
order by trial.environment_version_id, trial.id desc;

-- name: count_of_versions
select trial.environment_version_id as parent_id, count(*) as total
from evaluation_trials trial
where trial.environment_version_id = any($13::uuid[])
  and
-- include: matches
group by trial.environment_version_id;

-- name: create
-- One row for each attempt, from the start.
insert into evaluation_trials as trial (evaluation_run_id, environment_version_id, attempt, seed)
select $1, $2, attempt, $3 from generate_series(1, $4::int) attempt
returning
-- include: columns
;

-- name: add
-- Attempts $4 to $5 of a run, executed by job $6.
insert into evaluation_trials as trial (evaluation_run_id, environment_version_id, attempt, seed, job_id)
select $1, $2, attempt, $3, $6 from generate_series($4::int, $5::int) attempt
returning
-- include: columns
;

-- name: rerun
-- Queues what ended without a score in run $1 again, for job $2. Their executions keep what they came to, and count on.
update evaluation_trials as trial
set status = 'queued', job_id = $2, lost_executions = 0, failure_category = null, failure_detail = null, stages = '[]',
  metrics = null, redactions = 0, trajectory_artifact_id = null, started_at = null, finished_at = null
where trial.evaluation_run_id = $1 and trial.reward is null and trial.status not in ('queued', 'running')
returning
-- include: columns
;

-- name: claim
-- Starts execution $2 + 1 by worker $3 for job $4. A trial that was still running was lost with its worker. No row when
-- somebody else has started one since, the trial has ended, or another job is to execute it.
update evaluation_trials as trial
set execution = trial.execution + 1,
  lost_executions = trial.lost_executions + (trial.status = 'running')::int,
  status = 'running', worker = $3, started_at = now()
where trial.id = $1 and trial.execution = $2 and trial.status in ('queued', 'running')
  and trial.job_id is not distinct from $4
returning
-- include: columns
;

-- name: release
-- Hands back what execution $2 had begun: its worker lives, so the next claim counts no loss.
update evaluation_trials as trial
set status = 'queued'
where trial.id = $1 and trial.execution = $2 and trial.status = 'running'
returning
-- include: columns
;

-- name: hold
-- The trial, locked until the end of the transaction, if execution $2 is still its latest.
select
-- include: columns
from evaluation_trials trial
where trial.id = $1 and trial.execution = $2
for update;

-- name: finish
-- Stores what execution $2 came to. No row when a later execution has begun or the trial has ended: a late write.
update evaluation_trials as trial
set status = $3, reward = $4, failure_category = $5, failure_detail = $6, stages = $7, metrics = $8,
  trajectory_artifact_id = $9, redactions = $10, finished_at = now()
where trial.id = $1 and trial.execution = $2 and trial.status = 'running'
returning
-- include: columns
;

-- name: attach
-- A cancelled trial keeps the steps of the execution that was under way.
update evaluation_trials as trial
set trajectory_artifact_id = $3, redactions = $4
where trial.id = $1 and trial.execution = $2 and trial.status = 'cancelled' and trial.trajectory_artifact_id is null
returning
-- include: columns
;

-- name: interrupt
-- Ends a trial whose executions were all lost with their workers.
update evaluation_trials as trial
set status = 'interrupted', lost_executions = trial.lost_executions + 1, failure_category = 'worker_lost',
  failure_detail = $3, finished_at = now()
where trial.id = $1 and trial.execution = $2 and trial.status = 'running'
returning
-- include: columns
;

-- name: end_open
-- Ends what has not ended of run $1, as $2, with category $3.
update evaluation_trials as trial
set status = $2, failure_category = $3, failure_detail = $4, finished_at = now()
where trial.evaluation_run_id = $1 and trial.status in ('queued', 'running')
returning
-- include: columns
;
