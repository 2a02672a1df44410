-- Environments and what happened in them: versions, runs, trials, artifacts, rollouts.

create table environments (
  organization_id uuid not null default current_organization_id() references organizations,
  id uuid not null default uuidv7(),
  slug text not null check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  name text not null check (length(name) between 1 and 200),
  created_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, slug)
);

create table bundles (
  organization_id uuid not null default current_organization_id() references organizations,
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  content bytea not null,
  created_at timestamptz not null default now(),
  primary key (organization_id, sha256)
);
-- Archives are compressed already.
alter table bundles alter column content set storage external;

create table environment_versions (
  organization_id uuid not null default current_organization_id(),
  id uuid not null default uuidv7(),
  environment_id uuid not null,
  version integer not null check (version > 0),
  digest text not null check (digest ~ '^[0-9a-f]{64}$'),
  manifest json not null,
  bundle_sha256 text,
  created_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, environment_id, version),
  unique (organization_id, environment_id, digest),
  foreign key (organization_id, environment_id) references environments,
  foreign key (organization_id, bundle_sha256) references bundles
);

create function refuse_change() returns trigger
  language plpgsql set search_path = pg_catalog
as $$
begin
  raise exception '% is immutable: % refused', tg_table_name, lower(tg_op) using errcode = 'restrict_violation';
end $$;

-- ENABLE ALWAYS: fires for every role and also under session_replication_role = replica.
create trigger immutable before update or delete on environment_versions for each row execute function refuse_change();
create trigger immutable_truncate before truncate on environment_versions execute function refuse_change();
alter table environment_versions enable always trigger immutable, enable always trigger immutable_truncate;
create trigger immutable before update or delete on bundles for each row execute function refuse_change();
create trigger immutable_truncate before truncate on bundles execute function refuse_change();
alter table bundles enable always trigger immutable, enable always trigger immutable_truncate;

create table evaluator_configurations (
  organization_id uuid not null default current_organization_id() references organizations,
  id uuid not null default uuidv7(),
  name text not null check (length(name) between 1 and 200),
  attempt_count integer not null check (attempt_count between 1 and 8),
  agent_command text[] not null check (cardinality(agent_command) > 0),
  created_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, name)
);

create table evaluation_runs (
  organization_id uuid not null default current_organization_id(),
  id uuid not null default uuidv7(),
  environment_version_id uuid not null,
  evaluator_configuration_id uuid not null,
  trigger text not null check (trigger in ('evaluation', 'reset', 'import')),
  reset_mode text check (reset_mode in ('new_workspace', 'new_world')),
  seed bigint not null,
  attempt_count integer not null check (attempt_count between 1 and 8),
  status text not null default 'queued' check (status in ('queued', 'running', 'completed', 'cancelled', 'failed')),
  -- In the API's shape, and json so that reading it is copying it: [{"k": 1, "estimate": 0.5, "passHatK": 0.5}, ...].
  pass_at_k json not null default '[]',
  -- Attempts that errored or were never scored; they count as not passed.
  unscored_attempts integer,
  failure_detail text,
  job_id bigint,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  primary key (organization_id, id),
  foreign key (organization_id, environment_version_id) references environment_versions,
  foreign key (organization_id, evaluator_configuration_id) references evaluator_configurations,
  check ((trigger = 'reset') = (reset_mode is not null)),
  check ((status in ('completed', 'cancelled', 'failed')) = (finished_at is not null))
);
create index evaluation_runs_of_version on evaluation_runs (organization_id, environment_version_id, id);
create index evaluation_runs_of_configuration on evaluation_runs (organization_id, evaluator_configuration_id, id);

create table evaluation_trials (
  organization_id uuid not null default current_organization_id(),
  id uuid not null default uuidv7(),
  evaluation_run_id uuid not null,
  environment_version_id uuid not null,
  attempt integer not null check (attempt between 1 and 8),
  seed bigint not null,
  status text not null default 'queued'
    check (status in ('queued', 'running', 'completed', 'errored', 'timed_out', 'cancelled', 'interrupted')),
  -- How often this attempt was started: the fencing token of its lease, which never goes back.
  execution integer not null default 0,
  -- How many of those starts ended with the loss of their worker.
  lost_executions integer not null default 0 check (lost_executions between 0 and execution),
  reward double precision check (reward > '-infinity' and reward < 'infinity'),
  failure_category text check (failure_category ~ '^[a-z][a-z0-9_]{0,63}$'),
  failure_detail text,
  -- In the API's shape, and json so that reading it is copying it: [{"name": "stage_inventory", "value": 1}, ...].
  stages json not null default '[]',
  metrics json,
  trajectory_artifact_id uuid,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  primary key (organization_id, id),
  unique (organization_id, evaluation_run_id, attempt),
  foreign key (organization_id, evaluation_run_id) references evaluation_runs,
  foreign key (organization_id, environment_version_id) references environment_versions,
  check ((status in ('queued', 'running')) = (finished_at is null)),
  check (reward is null or status in ('completed', 'errored', 'timed_out'))
);
create index evaluation_trials_of_version on evaluation_trials (organization_id, environment_version_id, id);
create index evaluation_trials_by_reward on evaluation_trials (organization_id, reward, id);
create index evaluation_trials_by_category on evaluation_trials (organization_id, failure_category, id)
  where failure_category is not null;

create table trajectory_artifacts (
  organization_id uuid not null default current_organization_id(),
  id uuid not null default uuidv7(),
  evaluation_trial_id uuid not null,
  name text not null,
  -- json, not text or jsonb: keeps NUL, lone surrogates and every number as they came, escaped on one line.
  log json not null,
  steps json not null,
  step_count integer not null,
  -- The trajectory.json that the agent itself left, byte for byte.
  agent_trajectory bytea,
  created_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, evaluation_trial_id),
  foreign key (organization_id, evaluation_trial_id) references evaluation_trials
);
alter table evaluation_trials
  add foreign key (organization_id, trajectory_artifact_id) references trajectory_artifacts;

create table rollouts (
  organization_id uuid not null default current_organization_id(),
  id uuid not null default uuidv7(),
  evaluation_trial_id uuid not null,
  evaluation_run_id uuid not null,
  environment_version_id uuid not null,
  seed bigint not null,
  reward double precision check (reward > '-infinity' and reward < 'infinity'),
  created_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, evaluation_trial_id),
  foreign key (organization_id, evaluation_trial_id) references evaluation_trials,
  foreign key (organization_id, evaluation_run_id) references evaluation_runs,
  foreign key (organization_id, environment_version_id) references environment_versions
);
create index rollouts_of_run on rollouts (organization_id, evaluation_run_id, id);
create index rollouts_of_version on rollouts (organization_id, environment_version_id, id);
-- Read from both ends for preference pairs.
create index rollouts_scored on rollouts (organization_id, environment_version_id, reward, id) where reward is not null;

do $$
declare tenant_table text;
begin
  foreach tenant_table in array array[
    'environments', 'bundles', 'environment_versions', 'evaluator_configurations',
    'evaluation_runs', 'evaluation_trials', 'trajectory_artifacts', 'rollouts'
  ] loop
    execute format('alter table %I enable row level security, force row level security', tenant_table);
    execute format(
      'create policy tenant on %I to agentforge_app using '
      '(organization_id = (select nullif(current_setting(''agentforge.organization_id'', true), '''')::uuid))',
      tenant_table);
    execute format('grant select, insert on %I to agentforge_app', tenant_table);
  end loop;
end $$;
grant update (status, pass_at_k, unscored_attempts, failure_detail, job_id, started_at, finished_at)
  on evaluation_runs to agentforge_app;
grant update (status, execution, lost_executions, reward, failure_category, failure_detail, stages, metrics,
  trajectory_artifact_id, started_at, finished_at) on evaluation_trials to agentforge_app;

-- Tells listeners what changed: "<organization> <table> <id> <status>". Sent at commit, so what it names can be read.
create function notify_change() returns trigger
  language plpgsql set search_path = pg_catalog
as $$
begin
  perform pg_notify('agentforge_changes', format('%s %s %s %s', new.organization_id, tg_table_name, new.id, new.status));
  return null;
end $$;
create trigger notify_change after insert or update of status on evaluation_runs
  for each row execute function notify_change();
create trigger notify_change after update of status on evaluation_trials
  for each row execute function notify_change();

revoke execute on all functions in schema public from public;
