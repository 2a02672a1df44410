-- name: by_email
-- The member of this organization with the address $1, in any case.
select membership.user_id as id, person.email, membership.role, membership.created_at
from memberships membership join users person on person.id = membership.user_id
where person.email = lower($1);

-- name: by_ids
select membership.user_id as id, person.email, membership.role, membership.created_at
from memberships membership join users person on person.id = membership.user_id
where membership.user_id = any($1::uuid[]);

-- name: page
select membership.user_id as id, person.email, membership.role, membership.created_at
from memberships membership join users person on person.id = membership.user_id
where $1::uuid is null or membership.user_id < $1
order by membership.user_id desc
limit $2::int;

-- name: count
select count(*) as total from memberships;

-- name: lock_owners
-- All owners, in an order in which two that remove each other wait and do not block.
select user_id as id from memberships where role = 'owner' order by user_id for update;

-- name: remove
-- With the member's sessions and sign-in links.
delete from memberships where user_id = $1 returning user_id as id;
