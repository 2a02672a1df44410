-- Every start of an attempt is kept: those that were lost with their workers, handed back, or done again.

alter table evaluation_trials add column worker text;
comment on column evaluation_trials.worker is 'Who began the latest execution: host and process.';

create table trial_executions (
  organization_id uuid not null default current_organization_id(),
  evaluation_trial_id uuid not null,
  execution integer not null check (execution > 0),
  worker text,
  status text not null default 'running'
    check (status in ('running', 'completed', 'errored', 'timed_out', 'cancelled', 'lost', 'handed_back')),
  reward double precision check (reward > '-infinity' and reward < 'infinity'),
  failure_category text,
  failure_detail text,
  stages json not null default '[]',
  metrics json,
  trajectory_artifact_id uuid,
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (organization_id, evaluation_trial_id, execution),
  foreign key (organization_id, evaluation_trial_id) references evaluation_trials,
  foreign key (organization_id, trajectory_artifact_id) references trajectory_artifacts,
  check ((status = 'running') = (ended_at is null))
);

-- What a running execution has recorded so far, kept when it is lost; its artifact takes their place when it ends.
create table execution_steps (
  organization_id uuid not null default current_organization_id(),
  evaluation_trial_id uuid not null,
  execution integer not null,
  first_position integer not null check (first_position > 0),
  step_count integer not null check (step_count > 0),
  steps json not null,
  primary key (organization_id, evaluation_trial_id, execution, first_position),
  foreign key (organization_id, evaluation_trial_id, execution) references trial_executions
);

alter table trial_executions enable row level security, force row level security;
create policy tenant on trial_executions to agentforge_app
  using (organization_id = (select nullif(current_setting('agentforge.organization_id', true), '')::uuid));
grant select, insert on trial_executions to agentforge_app;
grant update (status, reward, failure_category, failure_detail, stages, metrics, trajectory_artifact_id, ended_at)
  on trial_executions to agentforge_app;
alter table execution_steps enable row level security, force row level security;
create policy tenant on execution_steps to agentforge_app
  using (organization_id = (select nullif(current_setting('agentforge.organization_id', true), '')::uuid));
grant select, insert, delete on execution_steps to agentforge_app;
grant update (worker) on evaluation_trials to agentforge_app;

-- Whatever changes a trial, its executions follow.
create function keep_execution() returns trigger
  language plpgsql set search_path = pg_catalog
as $$
begin
  if old.status = 'running' and (new.status <> 'running' or new.execution > old.execution) then
    update public.trial_executions kept
    set status = case
        when new.execution > old.execution or new.status = 'interrupted' then 'lost'
        when new.status = 'queued' then 'handed_back'
        else new.status
      end,
      failure_category = case
        when new.execution > old.execution or new.status = 'interrupted' then 'worker_lost'
        else new.failure_category
      end,
      reward = new.reward, failure_detail = new.failure_detail,
      stages = new.stages, metrics = new.metrics, ended_at = now()
    where kept.organization_id = old.organization_id and kept.evaluation_trial_id = old.id
      and kept.execution = old.execution;
  end if;
  if new.execution > old.execution then
    insert into public.trial_executions (organization_id, evaluation_trial_id, execution, worker)
    values (new.organization_id, new.id, new.execution, new.worker);
  end if;
  if new.trajectory_artifact_id is not null and new.trajectory_artifact_id is distinct from old.trajectory_artifact_id
  then
    update public.trial_executions kept set trajectory_artifact_id = new.trajectory_artifact_id
    where kept.organization_id = new.organization_id and kept.evaluation_trial_id = new.id
      and kept.execution = new.execution;
    delete from public.execution_steps recorded
    where recorded.organization_id = new.organization_id and recorded.evaluation_trial_id = new.id
      and recorded.execution = new.execution;
  end if;
  return null;
end $$;
create trigger keep_execution after update of status, execution, trajectory_artifact_id on evaluation_trials
  for each row execute function keep_execution();
revoke execute on function keep_execution() from public;

-- An artifact and a rollout for each execution; what came of an execution that was done again counts no more.
alter table trajectory_artifacts add column execution integer;
alter table rollouts add column execution integer, add column superseded boolean not null default false;
grant update (superseded) on rollouts to agentforge_app;

set local statement_timeout = 0;
create policy before_organization on evaluation_trials to current_user using (true);
create policy before_organization on trajectory_artifacts to current_user using (true);
create policy before_organization on rollouts to current_user using (true);
create policy before_organization on trial_executions to current_user using (true) with check (true);
update trajectory_artifacts artifact set execution = trial.execution
  from evaluation_trials trial
  where trial.organization_id = artifact.organization_id and trial.id = artifact.evaluation_trial_id;
update rollouts rollout set execution = trial.execution
  from evaluation_trials trial
  where trial.organization_id = rollout.organization_id and trial.id = rollout.evaluation_trial_id;
insert into trial_executions (organization_id, evaluation_trial_id, execution, status, reward, failure_category,
    failure_detail, stages, metrics, trajectory_artifact_id, started_at, ended_at)
  select trial.organization_id, trial.id, trial.execution,
    case trial.status when 'interrupted' then 'lost' when 'queued' then 'handed_back' else trial.status end,
    trial.reward, trial.failure_category, trial.failure_detail, trial.stages, trial.metrics,
    trial.trajectory_artifact_id, coalesce(trial.started_at, trial.created_at),
    case trial.status when 'running' then null else coalesce(trial.finished_at, now()) end
  from evaluation_trials trial
  where trial.execution > 0;
drop policy before_organization on evaluation_trials;
drop policy before_organization on trajectory_artifacts;
drop policy before_organization on rollouts;
drop policy before_organization on trial_executions;

alter table trajectory_artifacts alter column execution set not null,
  drop constraint trajectory_artifacts_organization_id_evaluation_trial_id_key,
  add unique (organization_id, evaluation_trial_id, execution);
alter table rollouts alter column execution set not null,
  drop constraint rollouts_organization_id_evaluation_trial_id_key,
  add unique (organization_id, evaluation_trial_id, execution);

-- Words are those of the latest artifact.
grant select, update (words) on trajectory_words to agentforge_app;
create or replace function keep_trajectory() returns trigger
  language plpgsql set search_path = pg_catalog
as $$
begin
  if new.step_count > 100 then
    insert into public.trajectory_parts (organization_id, trajectory_artifact_id, first_position, steps)
    select new.organization_id, new.id, part.first_position, part.block from public.trajectory_blocks(new.steps) part;
  end if;
  insert into public.trajectory_words (organization_id, evaluation_trial_id, words)
  values (new.organization_id, new.evaluation_trial_id,
    public.trajectory_words_of(new.organization_id, new.log, new.steps))
  on conflict (organization_id, evaluation_trial_id) do update set words = excluded.words;
  return null;
end $$;
