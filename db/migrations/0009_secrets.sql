-- Values that agents need and nobody reads back: encrypted by the service, whose keys are not in the database.

create table secrets (
  organization_id uuid not null default current_organization_id() references organizations,
  id uuid not null default uuidv7(),
  name text not null check (name ~ '^[A-Z_][A-Z0-9_]{0,127}$'),
  -- A Fernet token over organization, name and value.
  ciphertext bytea not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The person or token that set the value; null for an operator.
  updated_by uuid,
  primary key (organization_id, id),
  unique (organization_id, name)
);
alter table secrets enable row level security, force row level security;
create policy tenant on secrets to agentforge_app
  using (organization_id = (select nullif(current_setting('agentforge.organization_id', true), '')::uuid));
grant select, insert, delete, update (ciphertext, updated_at, updated_by) on secrets to agentforge_app;

-- For an operator who changes the keys of all organizations: which ones have secrets, and nothing else of them.
create policy before_organization on secrets for select to current_user using (true);
create function organizations_with_secrets() returns setof uuid
  language sql stable security definer set search_path = public, pg_temp
begin atomic
  select distinct organization_id from secrets;
end;
revoke execute on function organizations_with_secrets() from public;
grant execute on function organizations_with_secrets() to agentforge_app;

-- Names of secrets that the agent gets as variables. A secret may be removed later; a run then fails and says so.
alter table evaluator_configurations add column secrets text[] not null default '{}';

-- How often a secret was replaced in what an attempt left.
alter table evaluation_trials add column redactions integer not null default 0 check (redactions >= 0);
grant update (redactions) on evaluation_trials to agentforge_app;
