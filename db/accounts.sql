-- name: identify
-- Who holds the secret with SHA-256 $1; no row when nobody does.
select organization_id, subject_id, email, role, expires_at from identify($1::bytea);

-- name: sign_in_candidate
select user_id, password_hash from sign_in_candidate($1::text);

-- name: organization_of_member
-- The organization named $2, or the first one, of the user $1.
select organization_of_member($1::uuid, $2::text) as organization_id;

-- name: redeem_sign_in_link
select organization_id, user_id from redeem_sign_in_link($1::bytea);

-- name: organization_by_slug
select organization_by_slug($1::text) as organization_id;

-- name: user_by_email
select user_by_email($1::text) as user_id;

-- name: set_password
select set_password($1::uuid, $2::text) as changed;

-- name: new_organization_id
select uuidv7() as organization_id;

-- name: organizations_by_ids
select id, slug, name from organizations where id = any($1::uuid[]);

-- name: create_organization
-- The id is drawn first and made the transaction's organization, so that row-level security lets its own row in.
insert into organizations (id, slug, name) values (current_organization_id(), $1, $2)
on conflict (slug) do nothing
returning id, slug, name;

-- name: put_membership
insert into memberships (user_id, role) values ($1, $2)
on conflict (organization_id, user_id) do update set role = excluded.role
returning user_id;

-- name: create_session
insert into sessions (user_id, secret_sha256, expires_at) values ($1, $2, $3)
returning id;

-- name: delete_session
-- Signing out: the session that the signed-in person $2 holds with the secret whose id is $1.
delete from sessions where id = $1 and user_id = $2
returning id;

-- name: create_sign_in_link
insert into sign_in_links (user_id, secret_sha256, expires_at) values ($1, $2, $3);

-- name: create_token
insert into api_tokens (name, role, secret_sha256, expires_at) values ($1, $2, $3, $4)
returning id, name, role, created_at, expires_at, revoked_at;

-- name: revoke_token
update api_tokens set revoked_at = coalesce(revoked_at, now()) where id = $1
returning id, name, role, created_at, expires_at, revoked_at;

-- name: tokens
select id, name, role, created_at, expires_at, revoked_at from api_tokens order by id;

-- name: tokens_by_ids
select id, name, role, created_at, expires_at, revoked_at from api_tokens where id = any($1::uuid[]);

-- name: page_of_tokens
select id, name, role, created_at, expires_at, revoked_at from api_tokens
where $1::uuid is null or id < $1
order by id desc
limit $2::int;

-- name: count_of_tokens
select count(*) as total from api_tokens;
