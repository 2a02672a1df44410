-- name: by_email
-- The member of this organization with the address $1, in any case.
select membership.user_id, person.email, membership.role
from memberships membership join users person on person.id = membership.user_id
where person.email = lower($1);

-- name: by_user
select membership.user_id, person.email, membership.role
from memberships membership join users person on person.id = membership.user_id
where membership.user_id = $1;
