-- name: by_ids
select id, slug, name, created_at from environments where id = any($1::uuid[]);

-- name: by_slugs
select id, slug, name, created_at from environments where slug = any($1::text[]);

-- name: page
-- Newest first, below the id $1.
select id, slug, name, created_at
from environments
where $1::uuid is null or id < $1
order by id desc
limit $2::int;

-- name: count
select count(*) as total from environments;

-- name: create
insert into environments (slug, name) values ($1, $2)
on conflict (organization_id, slug) do nothing
returning id, slug, name, created_at;

-- name: lock
-- Held while a version is numbered, so that two publishers cannot draw the same number.
select pg_advisory_xact_lock(hashtextextended('environment ' || $1::uuid::text, 0))::text as locked;
