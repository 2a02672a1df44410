-- Who holds a secret, and until when; and a word to whoever remembers that when it may have ended sooner.

drop function identify(bytea);
create function identify(secret_sha256 bytea)
  returns table (organization_id uuid, subject_id uuid, email text, role text, expires_at timestamptz)
  language sql stable security definer set search_path = public, pg_temp
begin atomic
  select token.organization_id, token.id, null::text, token.role, token.expires_at
  from api_tokens token
  where token.secret_sha256 = identify.secret_sha256 and token.revoked_at is null and token.expires_at > now()
  union all
  select session.organization_id, person.id, person.email, membership.role, session.expires_at
  from sessions session
  join memberships membership using (organization_id, user_id)
  join users person on person.id = session.user_id
  where session.secret_sha256 = identify.secret_sha256 and session.expires_at > now();
end;
revoke execute on function identify(bytea) from public;
grant execute on function identify(bytea) to agentforge_app;

-- Without the row: listeners of every organization hear it. One word for a statement, however many rows.
create function notify_identities() returns trigger
  language plpgsql set search_path = pg_catalog
as $$
begin
  perform pg_notify('agentforge_identities', '');
  return null;
end $$;
create trigger notify_identities after update or delete on api_tokens
  for each statement execute function notify_identities();
create trigger notify_identities after update or delete on sessions
  for each statement execute function notify_identities();
create trigger notify_identities after update or delete on memberships
  for each statement execute function notify_identities();
create trigger notify_identities after update of email or delete on users
  for each statement execute function notify_identities();
revoke execute on function notify_identities() from public;

-- Tells listeners what changed: "<organization> <table> <id> <status> <run> <version>", so that only those who wait for
-- it have to look. Sent at commit, so what it names can be read.
create or replace function notify_change() returns trigger
  language plpgsql set search_path = pg_catalog
as $$
declare
  run uuid;
begin
  if tg_table_name = 'evaluation_runs' then
    run := new.id;
  else
    run := new.evaluation_run_id;
  end if;
  perform pg_notify('agentforge_changes', format('%s %s %s %s %s %s',
    new.organization_id, tg_table_name, new.id, new.status, run, new.environment_version_id));
  return null;
end $$;
