-- fragment: columns
  version.id, version.environment_id, version.version, version.digest, version.manifest, version.bundle_sha256,
  version.created_at

-- name: by_ids
select
-- include: columns
from environment_versions version
where version.id = any($1::uuid[]);

-- name: latest_of_environments
select distinct on (version.environment_id)
-- include: columns
from environment_versions version
where version.environment_id = any($1::uuid[])
order by version.environment_id, version.version desc;

-- name: page_of_environments
-- For each environment of $3 its versions, newest first, below the id $1.
select
-- include: columns
from unnest($3::uuid[]) parent (id)
cross join lateral (
  select *
  from environment_versions candidate
  where candidate.environment_id = parent.id and ($1::uuid is null or candidate.id < $1)
  order by candidate.id desc
  limit $2::int
) version
order by version.environment_id, version.id desc;

-- name: count_of_environments
select environment_id as parent_id, count(*) as total
from environment_versions
where environment_id = any($1::uuid[])
group by environment_id;

-- name: by_digest
select
-- include: columns
from environment_versions version
where version.environment_id = $1 and version.digest = $2;

-- name: publish
insert into environment_versions as version (environment_id, version, digest, manifest, bundle_sha256)
select $1, coalesce(max(earlier.version), 0) + 1, $2, $3, $4
from environment_versions earlier
where earlier.environment_id = $1
returning
-- include: columns
;

-- name: pass_at_k
-- The mean over each version's ended runs of each run's own estimate; attempts are never pooled across runs.
select
  run.environment_version_id, estimate.k,
  avg(estimate.estimate) as estimate, avg(estimate."passHatK") as pass_hat_k
from evaluation_runs run
cross join lateral json_to_recordset(run.pass_at_k)
  as estimate (k int, estimate double precision, "passHatK" double precision)
where run.environment_version_id = any($1::uuid[])
group by run.environment_version_id, estimate.k
order by run.environment_version_id, estimate.k;
