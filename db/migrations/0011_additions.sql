-- Attempts that are added to a run, and unscored ones that are done again: beside what there is, never over it.

-- A run may have several jobs, and each executes its own attempts only: what another job runs is not taken for lost.
alter table evaluation_trials add column job_id bigint;
comment on column evaluation_trials.job_id is 'The job that executes it, where that is not the run''s own.';
grant update (job_id) on evaluation_trials to agentforge_app;
grant update (attempt_count) on evaluation_runs to agentforge_app;

create function refuse_overwriting() returns trigger
  language plpgsql set search_path = pg_catalog
as $$
begin
  raise exception '% keeps what came to its end: % refused', tg_table_name, lower(tg_op)
    using errcode = 'restrict_violation';
end $$;
revoke execute on function refuse_overwriting() from public;
create trigger keep_score before update on evaluation_trials
  for each row when (old.reward is not null) execute function refuse_overwriting();
create trigger keep_outcome before update on trial_executions
  for each row when (old.trajectory_artifact_id is not null) execute function refuse_overwriting();

-- Of an attempt's rollouts one counts.
set local statement_timeout = 0;
create unique index rollouts_that_count on rollouts (organization_id, evaluation_trial_id) where not superseded;

-- As before, and: executions never count backwards, and an attempt without a trajectory has no words.
create or replace function keep_execution() returns trigger
  language plpgsql set search_path = pg_catalog
as $$
begin
  if new.execution < old.execution then
    raise exception 'an execution number never goes back' using errcode = 'restrict_violation';
  end if;
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
  elsif old.trajectory_artifact_id is not null and new.trajectory_artifact_id is null then
    update public.trajectory_words set words = ''
    where organization_id = new.organization_id and evaluation_trial_id = new.id;
  end if;
  return null;
end $$;
