-- fragment: columns
  run.id, run.environment_version_id, run.evaluator_configuration_id, run.trigger, run.reset_mode, run.seed,
  run.attempt_count, run.status, run.pass_at_k, run.unscored_attempts, run.failure_detail, run.job_id,
  run.created_at, run.started_at, run.finished_at

-- fragment: matches
  ($1::uuid is null or run.environment_version_id = $1)
  and ($2::uuid is null or run.evaluator_configuration_id = $2)
  and ($3::text[] is null or run.status = any($3))
  and ($4::text is null or run.trigger = $4)
  and ($5::timestamptz is null or run.created_at > $5)
  and ($6::timestamptz is null or run.created_at < $6)

-- name: by_ids
select
-- include: columns
from evaluation_runs run
where run.id = any($1::uuid[]);

-- name: page_newest
select
-- include: columns
from evaluation_runs run
where
-- include: matches
  and ($7::uuid is null or run.id < $7)
order by run.id desc
limit $8::int;

-- name: page_oldest
select
-- include: columns
from evaluation_runs run
where
-- include: matches
  and ($7::uuid is null or run.id > $7)
order by run.id
limit $8::int;

-- name: count
select count(*) as total
from evaluation_runs run
where
-- include: matches
;

-- name: page_of_versions
-- For each version of $9 its runs, newest first.
select
-- include: columns
from unnest($9::uuid[]) parent (id)
cross join lateral (
  select *
  from evaluation_runs run
  where run.environment_version_id = parent.id
    and
-- include: matches
    and ($7::uuid is null or run.id < $7)
  order by run.id desc
  limit $8::int
) run
order by run.environment_version_id, run.id desc;

-- name: count_of_versions
select run.environment_version_id as parent_id, count(*) as total
from evaluation_runs run
where run.environment_version_id = any($7::uuid[])
  and
-- include: matches
group by run.environment_version_id;

-- name: newest_of_version
select
-- include: columns
from evaluation_runs run
where run.environment_version_id = $1
order by run.id desc
limit 1;

-- name: create
insert into evaluation_runs as run
  (environment_version_id, evaluator_configuration_id, trigger, reset_mode, seed, attempt_count)
values ($1, $2, $3, $4, $5, $6)
returning
-- include: columns
;

-- name: set_job
update evaluation_runs as run set job_id = $2 where run.id = $1
returning
-- include: columns
;

-- name: lock
-- One writer decides how a run ends. No key changes, so rollouts that refer to the run are stored meanwhile.
select
-- include: columns
from evaluation_runs run
where run.id = $1
for no key update;

-- name: start
update evaluation_runs as run
set status = 'running', started_at = coalesce(started_at, now())
where run.id = $1 and run.status in ('queued', 'running')
returning
-- include: columns
;

-- name: reopen
-- With $2 more attempts. No estimate until it ends again; where it was open, its status is set all the same, so that
-- whoever watches it hears of it.
update evaluation_runs as run
set attempt_count = run.attempt_count + $2,
  status = case run.status when 'running' then 'running' else 'queued' end,
  pass_at_k = '[]', unscored_attempts = null, failure_detail = null, finished_at = null
where run.id = $1
returning
-- include: columns
;

-- name: finish
-- $2 status, $3 pass@k in the API's shape, $4 attempts without a score, $5 why the run failed.
update evaluation_runs as run
set status = $2, pass_at_k = $3, unscored_attempts = $4, failure_detail = $5, finished_at = now()
where run.id = $1 and run.status in ('queued', 'running')
returning
-- include: columns
;
