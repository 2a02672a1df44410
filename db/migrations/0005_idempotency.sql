-- What a change came to, by the key that a client gave it: asked again with that key, it is answered with the same.

create table idempotency_keys (
  organization_id uuid not null default current_organization_id() references organizations,
  subject_id uuid not null,
  key text not null check (length(key) between 1 and 1000),
  request_sha256 bytea not null check (length(request_sha256) = 32),
  result_id uuid,
  created_at timestamptz not null default now(),
  primary key (organization_id, subject_id, key)
);
create index idempotency_keys_age on idempotency_keys (organization_id, created_at);
alter table idempotency_keys enable row level security, force row level security;
create policy tenant on idempotency_keys to agentforge_app
  using (organization_id = (select nullif(current_setting('agentforge.organization_id', true), '')::uuid));
grant select, insert, delete, update (result_id) on idempotency_keys to agentforge_app;
