-- fragment: columns
  audit.id, audit.actor_id, audit.actor, audit.actor_role, audit.is_token, audit.kind, audit.format, audit.filters,
  audit.started_at, audit.ended_at, audit.outcome, audit.line_count as lines, audit.byte_count as bytes

-- name: start
-- Of the person $1 with the address $2, or of the token $1 where there is none.
insert into export_audits (actor_id, actor, actor_role, is_token, kind, format, filters)
values ($1::uuid, coalesce($2::text, (select name from api_tokens where id = $1), $1::uuid::text), $3::text, $2 is null,
  $4::text, $5::text, $6::json)
returning id;

-- name: finish
-- Once: what has ended stays as it is, also when the answer was lost and this is tried again.
update export_audits set outcome = $2::text, line_count = $3::bigint, byte_count = $4::bigint, ended_at = now()
where id = $1 and ended_at is null
returning id;

-- name: page
-- Newest first, below the id $1.
select
-- include: columns
from export_audits audit
where $1::uuid is null or audit.id < $1
order by audit.id desc
limit $2::int;

-- name: count
select count(*) as total from export_audits;
