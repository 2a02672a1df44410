-- Who took what out of the service: a row for each export, there before its first byte leaves.

create table export_audits (
  organization_id uuid not null default current_organization_id() references organizations,
  id uuid not null default uuidv7(),
  -- The person or token, with the address or name of then: no reference, since the row outlives both.
  actor_id uuid not null,
  actor text not null,
  actor_role text not null,
  is_token boolean not null,
  kind text not null,
  format text not null,
  -- In the API's shape: [{"name": "since", "value": "2026-01-31T09:00:00+00:00"}, ...].
  filters json not null,
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  outcome text not null default 'started' check (outcome in ('started', 'completed', 'left', 'failed', 'refused')),
  -- Lines handed to the connection, without a manifest, and their bytes before any compression.
  line_count bigint not null default 0 check (line_count >= 0),
  byte_count bigint not null default 0 check (byte_count >= 0),
  primary key (organization_id, id),
  check ((outcome = 'started') = (ended_at is null))
);
alter table export_audits enable row level security, force row level security;
create policy tenant on export_audits to agentforge_app
  using (organization_id = (select nullif(current_setting('agentforge.organization_id', true), '')::uuid));
grant select, insert, update (ended_at, outcome, line_count, byte_count) on export_audits to agentforge_app;

-- What has ended is never written again, by no role.
create trigger keep_outcome before update on export_audits
  for each row when (old.ended_at is not null) execute function refuse_overwriting();
alter table export_audits enable always trigger keep_outcome;
