-- fragment: columns
  secret.id, secret.name, secret.created_at, secret.updated_at, secret.updated_by

-- name: by_ids
select
-- include: columns
from secrets secret where secret.id = any($1::uuid[]);

-- name: by_names
select
-- include: columns
from secrets secret where secret.name = any($1::text[]);

-- name: in_order
select
-- include: columns
from secrets secret order by secret.name;

-- name: page
-- Newest first, below the id $1.
select
-- include: columns
from secrets secret
where $1::uuid is null or secret.id < $1
order by secret.id desc
limit $2::int;

-- name: count
select count(*) as total from secrets;

-- name: put
insert into secrets as secret (name, ciphertext, updated_by) values ($1, $2, $3)
on conflict (organization_id, name) do update
  set ciphertext = excluded.ciphertext, updated_at = now(), updated_by = excluded.updated_by
returning
-- include: columns
;

-- name: remove
delete from secrets where name = $1 returning id;

-- name: sealed
select id, name, ciphertext from secrets where name = any($1::text[]) order by name;

-- name: lock_sealed
-- All of the organization's, so that no value is set meanwhile and then overwritten by an older one.
select id, name, ciphertext from secrets order by id for update;

-- name: seal_again
update secrets set ciphertext = $2 where id = $1;

-- name: organizations
select organization_id from organizations_with_secrets() organization_id order by organization_id;
