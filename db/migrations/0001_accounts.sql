-- Organizations, the people and programs that act for them, and what must be known before the organization is.
-- Run as the owner of the database; agentforge_app is the role of API and workers and owns nothing.

create function current_organization_id() returns uuid
  language sql stable parallel safe
  set search_path = pg_catalog
  return nullif(current_setting('agentforge.organization_id', true), '')::uuid;

create table organizations (
  id uuid primary key default uuidv7(),
  slug text not null unique check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  name text not null check (length(name) between 1 and 200),
  created_at timestamptz not null default now()
);

create table users (
  id uuid primary key default uuidv7(),
  email text not null unique check (email = lower(email) and email ~ '^[^@\s]+@[^@\s]+$'),
  password_hash text,
  created_at timestamptz not null default now()
);

create table memberships (
  organization_id uuid not null default current_organization_id() references organizations,
  user_id uuid not null references users,
  role text not null check (role in ('owner', 'member', 'viewer')),
  created_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
create index memberships_user on memberships (user_id, created_at);

create table sessions (
  organization_id uuid not null default current_organization_id(),
  id uuid not null default uuidv7(),
  user_id uuid not null,
  secret_sha256 bytea not null unique check (length(secret_sha256) = 32),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (organization_id, id),
  foreign key (organization_id, user_id) references memberships on delete cascade
);

create table sign_in_links (
  organization_id uuid not null default current_organization_id(),
  id uuid not null default uuidv7(),
  user_id uuid not null,
  secret_sha256 bytea not null unique check (length(secret_sha256) = 32),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz,
  primary key (organization_id, id),
  foreign key (organization_id, user_id) references memberships on delete cascade
);

create table api_tokens (
  organization_id uuid not null default current_organization_id() references organizations,
  id uuid not null default uuidv7(),
  name text not null check (length(name) between 1 and 200),
  role text not null check (role in ('owner', 'member', 'viewer', 'worker')),
  secret_sha256 bytea not null unique check (length(secret_sha256) = 32),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  primary key (organization_id, id)
);

alter table organizations enable row level security, force row level security;
create policy tenant on organizations to agentforge_app
  using (id = (select nullif(current_setting('agentforge.organization_id', true), '')::uuid));

do $$
declare tenant_table text;
begin
  foreach tenant_table in array array['memberships', 'sessions', 'sign_in_links', 'api_tokens'] loop
    execute format('alter table %I enable row level security, force row level security', tenant_table);
    execute format(
      'create policy tenant on %I to agentforge_app using '
      '(organization_id = (select nullif(current_setting(''agentforge.organization_id'', true), '''')::uuid))',
      tenant_table);
  end loop;
end $$;

-- A person is seen by the organizations that they belong to; memberships are under row-level security themselves.
alter table users enable row level security, force row level security;
create policy member on users for select to agentforge_app
  using (exists (select from memberships where memberships.user_id = users.id));

grant select, insert on organizations to agentforge_app;
grant select (id, email, created_at) on users to agentforge_app;
grant select, insert, update (role), delete on memberships to agentforge_app;
grant select (organization_id, id, user_id, created_at, expires_at), insert, delete on sessions to agentforge_app;
grant insert on sign_in_links to agentforge_app;
grant select (organization_id, id, name, role, created_at, expires_at, revoked_at), insert, update (revoked_at)
  on api_tokens to agentforge_app;

-- What follows runs as the owner, because the organization is not known yet. Row-level security is forced on the
-- owner too, so each table that these functions read says so in a policy of its own.
create policy before_organization on organizations to current_user using (true);
create policy before_organization on users to current_user using (true) with check (true);
create policy before_organization on memberships to current_user using (true);
create policy before_organization on sessions to current_user using (true);
create policy before_organization on sign_in_links to current_user using (true);
create policy before_organization on api_tokens to current_user using (true);

-- Whose secret this is: a session's or a token's that has not ended.
create function identify(secret_sha256 bytea)
  returns table (organization_id uuid, subject_id uuid, email text, role text)
  language sql stable security definer set search_path = public, pg_temp
begin atomic
  select token.organization_id, token.id, null::text, token.role
  from api_tokens token
  where token.secret_sha256 = identify.secret_sha256 and token.revoked_at is null and token.expires_at > now()
  union all
  select session.organization_id, person.id, person.email, membership.role
  from sessions session
  join memberships membership using (organization_id, user_id)
  join users person on person.id = session.user_id
  where session.secret_sha256 = identify.secret_sha256 and session.expires_at > now();
end;

-- What a password is checked against. The caller verifies the hash before it goes on.
create function sign_in_candidate(email text)
  returns table (user_id uuid, password_hash text)
  language sql stable security definer set search_path = public, pg_temp
begin atomic
  select person.id, person.password_hash from users person
  where person.email = lower(sign_in_candidate.email) and person.password_hash is not null;
end;

-- The organization that a person signs in to: the one named, or their first.
create function organization_of_member(user_id uuid, slug text) returns uuid
  language sql stable security definer set search_path = public, pg_temp
begin atomic
  select membership.organization_id
  from memberships membership join organizations organization on organization.id = membership.organization_id
  where membership.user_id = organization_of_member.user_id
    and (organization_of_member.slug is null or organization.slug = organization_of_member.slug)
  order by membership.created_at, membership.organization_id
  limit 1;
end;

-- Uses up a sign-in link; no row when it is unknown, used or past its time.
create function redeem_sign_in_link(secret_sha256 bytea)
  returns table (organization_id uuid, user_id uuid)
  language sql volatile security definer set search_path = public, pg_temp
begin atomic
  update sign_in_links link set used_at = now()
  where link.secret_sha256 = redeem_sign_in_link.secret_sha256 and link.used_at is null and link.expires_at > now()
  returning link.organization_id, link.user_id;
end;

-- For operators' commands: an organization by its name, a person by their address (made when new).
create function organization_by_slug(slug text) returns uuid
  language sql stable security definer set search_path = public, pg_temp
begin atomic
  select organization.id from organizations organization where organization.slug = organization_by_slug.slug;
end;

create function user_by_email(email text) returns uuid
  language sql volatile security definer set search_path = public, pg_temp
begin atomic
  insert into users as person (email) values (lower(user_by_email.email))
  on conflict (email) do update set email = excluded.email
  returning person.id;
end;

-- Sets the password of a member of the current organization; false when there is no such member.
create function set_password(user_id uuid, password_hash text) returns boolean
  language sql volatile security definer set search_path = public, pg_temp
begin atomic
  with changed as (
    update users person set password_hash = set_password.password_hash
    where person.id = set_password.user_id
      and exists (select from memberships membership
                  where membership.user_id = person.id and membership.organization_id = current_organization_id())
    returning person.id
  )
  select exists (select from changed);
end;

revoke execute on all functions in schema public from public;
grant execute on all functions in schema public to agentforge_app;
