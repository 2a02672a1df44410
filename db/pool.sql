-- name: role
-- Whether the current role, or one that it can become, would see every organization.
select
  current_user::text as name,
  coalesce(bool_or(role.rolsuper or role.rolbypassrls), false) as bypasses,
  coalesce(bool_or(owned.exists), false) as owns
from pg_roles role
cross join lateral (
  select exists (
    select from pg_class
    where pg_class.relowner = role.oid and pg_class.relnamespace = 'public'::regnamespace and pg_class.relkind in ('r', 'p')
  )
) owned
where pg_has_role(current_user, role.oid, 'member');
