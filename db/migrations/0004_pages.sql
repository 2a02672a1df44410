-- What pages of trials need so that they take no longer the more trials there are.

-- All trials are read, for which a minute may not be enough.
set local statement_timeout = 0;

-- In the order in which they are read after a lost connection.
create index evaluation_trials_finished on evaluation_trials (organization_id, finished_at, id)
  where finished_at is not null;

-- Unscored trials come last in both orders; as a value a page can continue behind them too.
create index evaluation_trials_reward_highest
  on evaluation_trials (organization_id, (case when reward is null then '-infinity' else reward end), id);
create index evaluation_trials_reward_lowest
  on evaluation_trials (organization_id, (case when reward is null then 'infinity' else reward end), id);

create index evaluation_trials_by_status on evaluation_trials (organization_id, status, id);

-- Which stages the trials of a version have, so that one that few or none have is not looked for in all of them.
create table environment_version_stages (
  organization_id uuid not null default current_organization_id(),
  environment_version_id uuid not null,
  stage text not null,
  primary key (organization_id, stage, environment_version_id),
  foreign key (organization_id, environment_version_id) references environment_versions
);
alter table environment_version_stages enable row level security, force row level security;
create policy tenant on environment_version_stages to agentforge_app
  using (organization_id = (select nullif(current_setting('agentforge.organization_id', true), '')::uuid));
grant select, insert on environment_version_stages to agentforge_app;

create function note_stages() returns trigger
  language plpgsql set search_path = pg_catalog
as $$
begin
  insert into public.environment_version_stages (organization_id, environment_version_id, stage)
  select distinct new.organization_id, new.environment_version_id, stage.name
  from json_to_recordset(new.stages) as stage (name text)
  where not exists (
    select from public.environment_version_stages known
    where known.environment_version_id = new.environment_version_id and known.stage = stage.name)
  order by 3
  on conflict do nothing;
  return null;
end $$;
create trigger note_stages after insert or update of stages on evaluation_trials
  for each row when (new.stages::text <> '[]') execute function note_stages();
revoke execute on function note_stages() from public;

create policy before_organization on environment_version_stages to current_user using (true) with check (true);
create policy before_organization on evaluation_trials to current_user using (true);
insert into environment_version_stages (organization_id, environment_version_id, stage)
  select distinct trial.organization_id, trial.environment_version_id, stage.name
  from evaluation_trials trial cross join lateral json_to_recordset(trial.stages) as stage (name text);
analyze environment_version_stages;
drop policy before_organization on environment_version_stages;
drop policy before_organization on evaluation_trials;
