-- The queue and the workers as a whole, for operators. Nothing here tells of an organization, so no policy is needed.

-- name: report
-- What worker $1 on host $2 has room for ($3 attempts) and does now ($4), with what it has counted since its last report
-- ($6, $7) added to the totals. Report number $5 is added once, however often it is sent. Forgets workers long silent.
with told as (
  insert into queue.workers as worker (name, host, places, places_taken, report)
  values ($1, $2, $3, $4, $5)
  on conflict (name) do update
  set places = excluded.places, places_taken = excluded.places_taken, report = excluded.report, last_seen_at = now()
  where worker.report < excluded.report
  returning 1
), added as (
  insert into queue.totals as total (series, value)
  select counted.series, counted.value
  from unnest($6::text[], $7::double precision[]) counted (series, value)
  where exists (select from told)
  order by counted.series
  on conflict (series) do update set value = total.value + excluded.value
), forgotten as (
  delete from queue.workers where last_seen_at < now() - interval '1 hour' and name <> $1
)
select exists (select from told) as is_new;

-- name: leave
delete from queue.workers where name = $1;

-- name: present
-- The workers that have reported within half a minute.
select count(*) as workers, coalesce(sum(places), 0) as places, coalesce(sum(places_taken), 0) as places_taken
from queue.workers
where last_seen_at > now() - interval '30 seconds';

-- name: totals
select series, value from queue.totals order by series;

-- name: waiting
-- Runs that wait, those that a worker has taken, the attempts of those that wait and the age of the oldest in seconds.
select
  count(*) filter (where status = 'queued') as queued_runs,
  count(*) filter (where status = 'picked') as taken_runs,
  coalesce(sum(coalesce((headers ->> 'attempts')::int, 1)) filter (where status = 'queued'), 0) as queued_attempts,
  coalesce(extract(epoch from now() - min(created) filter (where status = 'queued')), 0)::double precision
    as oldest_seconds
from queue.pgqueuer
where entrypoint = 'evaluation_run';
