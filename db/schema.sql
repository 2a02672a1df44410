--
-- PostgreSQL database dump
--



SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: current_organization_id(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.current_organization_id() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    RETURN (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: api_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_tokens (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    secret_sha256 bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT api_tokens_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT api_tokens_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'member'::text, 'viewer'::text, 'worker'::text]))),
    CONSTRAINT api_tokens_secret_sha256_check CHECK ((length(secret_sha256) = 32))
);

ALTER TABLE ONLY public.api_tokens FORCE ROW LEVEL SECURITY;


--
-- Name: memberships; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.memberships (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT memberships_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'member'::text, 'viewer'::text])))
);

ALTER TABLE ONLY public.memberships FORCE ROW LEVEL SECURITY;


--
-- Name: sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sessions (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    user_id uuid NOT NULL,
    secret_sha256 bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT sessions_secret_sha256_check CHECK ((length(secret_sha256) = 32))
);

ALTER TABLE ONLY public.sessions FORCE ROW LEVEL SECURITY;


--
-- Name: users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.users (
    id uuid DEFAULT uuidv7() NOT NULL,
    email text NOT NULL,
    password_hash text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT users_email_check CHECK (((email = lower(email)) AND (email ~ '^[^@\s]+@[^@\s]+$'::text)))
);

ALTER TABLE ONLY public.users FORCE ROW LEVEL SECURITY;


--
-- Name: identify(bytea); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.identify(secret_sha256 bytea) RETURNS TABLE(organization_id uuid, subject_id uuid, email text, role text, expires_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT token.organization_id,
     token.id,
     NULL::text AS text,
     token.role,
     token.expires_at
    FROM public.api_tokens token
   WHERE ((token.secret_sha256 = identify.secret_sha256) AND (token.revoked_at IS NULL) AND (token.expires_at > now()))
 UNION ALL
  SELECT session.organization_id,
     person.id,
     person.email,
     membership.role,
     session.expires_at
    FROM ((public.sessions session
      JOIN public.memberships membership USING (organization_id, user_id))
      JOIN public.users person ON ((person.id = session.user_id)))
   WHERE ((session.secret_sha256 = identify.secret_sha256) AND (session.expires_at > now()));
END;


--
-- Name: keep_execution(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.keep_execution() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
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


--
-- Name: keep_trajectory(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.keep_trajectory() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
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


--
-- Name: note_stages(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.note_stages() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
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


--
-- Name: notify_change(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.notify_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
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


--
-- Name: notify_identities(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.notify_identities() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
begin
  perform pg_notify('agentforge_identities', '');
  return null;
end $$;


--
-- Name: organizations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.organizations (
    id uuid DEFAULT uuidv7() NOT NULL,
    slug text NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT organizations_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT organizations_slug_check CHECK ((slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text))
);

ALTER TABLE ONLY public.organizations FORCE ROW LEVEL SECURITY;


--
-- Name: organization_by_slug(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.organization_by_slug(slug text) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT organization.id
    FROM public.organizations organization
   WHERE (organization.slug = organization_by_slug.slug);
END;


--
-- Name: organization_of_member(uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.organization_of_member(user_id uuid, slug text) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT membership.organization_id
    FROM (public.memberships membership
      JOIN public.organizations organization ON ((organization.id = membership.organization_id)))
   WHERE ((membership.user_id = organization_of_member.user_id) AND ((organization_of_member.slug IS NULL) OR (organization.slug = organization_of_member.slug)))
   ORDER BY membership.created_at, membership.organization_id
  LIMIT 1;
END;


--
-- Name: organization_word(uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.organization_word(organization_id uuid) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    RETURN ('ORGANIZATION '::text || organization_id);


--
-- Name: secrets; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.secrets (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    name text NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_by uuid,
    CONSTRAINT secrets_name_check CHECK ((name ~ '^[A-Z_][A-Z0-9_]{0,127}$'::text))
);

ALTER TABLE ONLY public.secrets FORCE ROW LEVEL SECURITY;


--
-- Name: organizations_with_secrets(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.organizations_with_secrets() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT DISTINCT secrets.organization_id
    FROM public.secrets;
END;


--
-- Name: sign_in_links; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sign_in_links (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    user_id uuid NOT NULL,
    secret_sha256 bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT sign_in_links_secret_sha256_check CHECK ((length(secret_sha256) = 32))
);

ALTER TABLE ONLY public.sign_in_links FORCE ROW LEVEL SECURITY;


--
-- Name: redeem_sign_in_link(bytea); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.redeem_sign_in_link(secret_sha256 bytea) RETURNS TABLE(organization_id uuid, user_id uuid)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 UPDATE public.sign_in_links link SET used_at = now()
   WHERE ((link.secret_sha256 = redeem_sign_in_link.secret_sha256) AND (link.used_at IS NULL) AND (link.expires_at > now()))
   RETURNING link.organization_id,
     link.user_id;
END;


--
-- Name: refuse_change(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
begin
  raise exception '% is immutable: % refused', tg_table_name, lower(tg_op) using errcode = 'restrict_violation';
end $$;


--
-- Name: refuse_overwriting(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.refuse_overwriting() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
begin
  raise exception '% keeps what came to its end: % refused', tg_table_name, lower(tg_op)
    using errcode = 'restrict_violation';
end $$;


--
-- Name: searchable_text(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.searchable_text(value text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    BEGIN ATOMIC
 SELECT regexp_replace(lower((value COLLATE pg_c_utf8)), '[[:punct:][:space:]]+'::text, ' '::text, 'g'::text) AS regexp_replace;
END;


--
-- Name: search_query(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.search_query(value text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    BEGIN ATOMIC
 SELECT websearch_to_tsquery('simple'::regconfig, string_agg(
         CASE
             WHEN ((found.parts[1] = '-'::text) OR (found.parts[2] ~~ '"%'::text)) THEN (((found.parts[1] || '"'::text) || public.searchable_text(found.parts[2])) || '"'::text)
             ELSE public.searchable_text(found.parts[2])
         END, ' '::text ORDER BY found."position")) AS websearch_to_tsquery
    FROM regexp_matches(search_query.value, '(-?)("[^"]*"?|[^\s"]+)'::text, 'g'::text) WITH ORDINALITY found(parts, "position");
END;


--
-- Name: searchable_json(json); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.searchable_json(value json) RETURNS json
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    BEGIN ATOMIC
 SELECT (replace(regexp_replace(regexp_replace(replace(replace((value)::text, '\\'::text, ' '::text), '\u0000'::text, ' '::text), '\\(u[dD][89abAB][0-9a-fA-F]{2})\\(u[dD][c-fC-F][0-9a-fA-F]{2})'::text, '\1\2'::text, 'g'::text), '\\u[dD][89a-fA-F][0-9a-fA-F]{2}'::text, ' '::text, 'g'::text), ''::text, '\'::text))::json AS replace;
END;


--
-- Name: set_password(uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.set_password(user_id uuid, password_hash text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 WITH changed AS (
          UPDATE public.users person SET password_hash = set_password.password_hash
           WHERE ((person.id = set_password.user_id) AND (EXISTS ( SELECT
                    FROM public.memberships membership
                   WHERE ((membership.user_id = person.id) AND (membership.organization_id = public.current_organization_id())))))
           RETURNING person.id
         )
  SELECT (EXISTS ( SELECT
            FROM changed)) AS "exists";
END;


--
-- Name: sign_in_candidate(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.sign_in_candidate(email text) RETURNS TABLE(user_id uuid, password_hash text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT person.id,
     person.password_hash
    FROM public.users person
   WHERE ((person.email = lower(sign_in_candidate.email)) AND (person.password_hash IS NOT NULL));
END;


--
-- Name: trajectory_blocks(json); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.trajectory_blocks(steps json) RETURNS TABLE(first_position integer, block json)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    BEGIN ATOMIC
 SELECT (min(step."position"))::integer AS min,
     ((('['::text || string_agg((step.value)::text, ','::text ORDER BY step."position")) || ']'::text))::json AS "json"
    FROM json_array_elements(trajectory_blocks.steps) WITH ORDINALITY step(value, "position")
   GROUP BY ((step."position" - 1) / 100);
END;


--
-- Name: trajectory_words_of(uuid, json, json); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.trajectory_words_of(organization_id uuid, log json, steps json) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $$
declare
  words tsvector := array_to_tsvector(array[public.organization_word(organization_id)]);
  characters integer := 10000000;
  passage text;
begin
  for passage in
    select coalesce(left(public.searchable_json(log) #>> '{}', 100000), '')
    union all
    select (
      select string_agg(concat_ws(' ', left(tool, 2000), left(command, 2000), left(observation, 2000)), ' ')
      from json_to_recordset(public.searchable_json(part.block)) as step (tool text, command text, observation text))
    -- In order first, so that texts are taken out of their blocks only while there is room.
    from (select * from public.trajectory_blocks(steps) order by first_position offset 0) part
  loop
    characters := characters - length(passage);
    exit when characters < 0;
    begin
      words := words || to_tsvector('simple', public.searchable_text(passage));
    exception when program_limit_exceeded then
      continue;
    end;
  end loop;
  return words;
end $$;


--
-- Name: trajectory_words; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.trajectory_words (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    evaluation_trial_id uuid NOT NULL,
    words tsvector NOT NULL
)
WITH (toast_tuple_target='128');
ALTER TABLE ONLY public.trajectory_words ALTER COLUMN words SET STATISTICS 0;

ALTER TABLE ONLY public.trajectory_words FORCE ROW LEVEL SECURITY;


--
-- Name: trials_with_words(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.trials_with_words(query text) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 100
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT found.evaluation_trial_id
    FROM public.trajectory_words found
   WHERE ((found.words @@ ( SELECT ((quote_literal(public.organization_word(public.current_organization_id())))::tsquery && sought.sought)
            FROM public.search_query(trials_with_words.query) sought(sought)
           WHERE (numnode(sought.sought) > 0))) AND (NOT (found.organization_id IS DISTINCT FROM ( SELECT public.current_organization_id() AS current_organization_id))));
END;


--
-- Name: user_by_email(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.user_by_email(email text) RETURNS uuid
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 INSERT INTO public.users AS person (email)
   VALUES (lower(user_by_email.email)) ON CONFLICT(email) DO UPDATE SET email = excluded.email
   RETURNING person.id;
END;


--
-- Name: artifact_files; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.artifact_files (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    trajectory_artifact_id uuid NOT NULL,
    path json NOT NULL,
    byte_size bigint NOT NULL,
    content bytea,
    sha256 text GENERATED ALWAYS AS (encode(sha256(content), 'hex'::text)) STORED,
    omitted text,
    CONSTRAINT artifact_files_byte_size_check CHECK ((byte_size >= 0)),
    CONSTRAINT artifact_files_check CHECK (((content IS NULL) = (omitted IS NOT NULL)))
);

ALTER TABLE ONLY public.artifact_files FORCE ROW LEVEL SECURITY;


--
-- Name: atif_verdicts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.atif_verdicts (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    trajectory_artifact_id uuid NOT NULL,
    valid boolean NOT NULL,
    version text,
    errors text[] NOT NULL,
    is_json boolean NOT NULL,
    CONSTRAINT atif_verdicts_check CHECK ((valid = (cardinality(errors) = 0))),
    CONSTRAINT atif_verdicts_check1 CHECK ((is_json OR (NOT valid)))
);

ALTER TABLE ONLY public.atif_verdicts FORCE ROW LEVEL SECURITY;


--
-- Name: bundles; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.bundles (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    sha256 text NOT NULL,
    content bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT bundles_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text))
);
ALTER TABLE ONLY public.bundles ALTER COLUMN content SET STORAGE EXTERNAL;

ALTER TABLE ONLY public.bundles FORCE ROW LEVEL SECURITY;


--
-- Name: environment_version_stages; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.environment_version_stages (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    environment_version_id uuid NOT NULL,
    stage text NOT NULL
);

ALTER TABLE ONLY public.environment_version_stages FORCE ROW LEVEL SECURITY;


--
-- Name: environment_versions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.environment_versions (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    environment_id uuid NOT NULL,
    version integer NOT NULL,
    digest text NOT NULL,
    manifest json NOT NULL,
    bundle_sha256 text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT environment_versions_digest_check CHECK ((digest ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT environment_versions_version_check CHECK ((version > 0))
);

ALTER TABLE ONLY public.environment_versions FORCE ROW LEVEL SECURITY;


--
-- Name: environments; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.environments (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    slug text NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT environments_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT environments_slug_check CHECK ((slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text))
);

ALTER TABLE ONLY public.environments FORCE ROW LEVEL SECURITY;


--
-- Name: evaluation_runs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.evaluation_runs (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    environment_version_id uuid NOT NULL,
    evaluator_configuration_id uuid NOT NULL,
    trigger text NOT NULL,
    reset_mode text,
    seed bigint NOT NULL,
    attempt_count integer NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    pass_at_k json DEFAULT '[]'::json NOT NULL,
    unscored_attempts integer,
    failure_detail text,
    job_id bigint,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    CONSTRAINT evaluation_runs_attempt_count_check CHECK (((attempt_count >= 1) AND (attempt_count <= 8))),
    CONSTRAINT evaluation_runs_check CHECK (((trigger = 'reset'::text) = (reset_mode IS NOT NULL))),
    CONSTRAINT evaluation_runs_check1 CHECK (((status = ANY (ARRAY['completed'::text, 'cancelled'::text, 'failed'::text])) = (finished_at IS NOT NULL))),
    CONSTRAINT evaluation_runs_reset_mode_check CHECK ((reset_mode = ANY (ARRAY['new_workspace'::text, 'new_world'::text]))),
    CONSTRAINT evaluation_runs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'completed'::text, 'cancelled'::text, 'failed'::text]))),
    CONSTRAINT evaluation_runs_trigger_check CHECK ((trigger = ANY (ARRAY['evaluation'::text, 'reset'::text, 'import'::text])))
);

ALTER TABLE ONLY public.evaluation_runs FORCE ROW LEVEL SECURITY;


--
-- Name: evaluation_trials; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.evaluation_trials (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    evaluation_run_id uuid NOT NULL,
    environment_version_id uuid NOT NULL,
    attempt integer NOT NULL,
    seed bigint NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    execution integer DEFAULT 0 NOT NULL,
    lost_executions integer DEFAULT 0 NOT NULL,
    reward double precision,
    failure_category text,
    failure_detail text,
    stages json DEFAULT '[]'::json NOT NULL,
    metrics json,
    trajectory_artifact_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    redactions integer DEFAULT 0 NOT NULL,
    worker text,
    job_id bigint,
    CONSTRAINT evaluation_trials_attempt_check CHECK (((attempt >= 1) AND (attempt <= 8))),
    CONSTRAINT evaluation_trials_check CHECK (((lost_executions >= 0) AND (lost_executions <= execution))),
    CONSTRAINT evaluation_trials_check1 CHECK (((status = ANY (ARRAY['queued'::text, 'running'::text])) = (finished_at IS NULL))),
    CONSTRAINT evaluation_trials_check2 CHECK (((reward IS NULL) OR (status = ANY (ARRAY['completed'::text, 'errored'::text, 'timed_out'::text])))),
    CONSTRAINT evaluation_trials_failure_category_check CHECK ((failure_category ~ '^[a-z][a-z0-9_]{0,63}$'::text)),
    CONSTRAINT evaluation_trials_redactions_check CHECK ((redactions >= 0)),
    CONSTRAINT evaluation_trials_reward_check CHECK (((reward > '-Infinity'::double precision) AND (reward < 'Infinity'::double precision))),
    CONSTRAINT evaluation_trials_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'completed'::text, 'errored'::text, 'timed_out'::text, 'cancelled'::text, 'interrupted'::text])))
);

ALTER TABLE ONLY public.evaluation_trials FORCE ROW LEVEL SECURITY;


--
-- Name: COLUMN evaluation_trials.worker; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.evaluation_trials.worker IS 'Who began the latest execution: host and process.';


--
-- Name: COLUMN evaluation_trials.job_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.evaluation_trials.job_id IS 'The job that executes it, where that is not the run''s own.';


--
-- Name: evaluator_configurations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.evaluator_configurations (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    name text NOT NULL,
    attempt_count integer NOT NULL,
    agent_command text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    secrets text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT evaluator_configurations_agent_command_check CHECK ((cardinality(agent_command) > 0)),
    CONSTRAINT evaluator_configurations_attempt_count_check CHECK (((attempt_count >= 1) AND (attempt_count <= 8))),
    CONSTRAINT evaluator_configurations_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

ALTER TABLE ONLY public.evaluator_configurations FORCE ROW LEVEL SECURITY;


--
-- Name: execution_steps; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.execution_steps (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    evaluation_trial_id uuid NOT NULL,
    execution integer NOT NULL,
    first_position integer NOT NULL,
    step_count integer NOT NULL,
    steps json NOT NULL,
    CONSTRAINT execution_steps_first_position_check CHECK ((first_position > 0)),
    CONSTRAINT execution_steps_step_count_check CHECK ((step_count > 0))
);

ALTER TABLE ONLY public.execution_steps FORCE ROW LEVEL SECURITY;


--
-- Name: export_audits; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.export_audits (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    actor_id uuid NOT NULL,
    actor text NOT NULL,
    actor_role text NOT NULL,
    is_token boolean NOT NULL,
    kind text NOT NULL,
    format text NOT NULL,
    filters json NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    outcome text DEFAULT 'started'::text NOT NULL,
    line_count bigint DEFAULT 0 NOT NULL,
    byte_count bigint DEFAULT 0 NOT NULL,
    CONSTRAINT export_audits_byte_count_check CHECK ((byte_count >= 0)),
    CONSTRAINT export_audits_check CHECK (((outcome = 'started'::text) = (ended_at IS NULL))),
    CONSTRAINT export_audits_line_count_check CHECK ((line_count >= 0)),
    CONSTRAINT export_audits_outcome_check CHECK ((outcome = ANY (ARRAY['started'::text, 'completed'::text, 'left'::text, 'failed'::text, 'refused'::text])))
);

ALTER TABLE ONLY public.export_audits FORCE ROW LEVEL SECURITY;


--
-- Name: idempotency_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.idempotency_keys (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    subject_id uuid NOT NULL,
    key text NOT NULL,
    request_sha256 bytea NOT NULL,
    result_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 1000))),
    CONSTRAINT idempotency_keys_request_sha256_check CHECK ((length(request_sha256) = 32))
);

ALTER TABLE ONLY public.idempotency_keys FORCE ROW LEVEL SECURITY;


--
-- Name: rollouts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.rollouts (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    evaluation_trial_id uuid NOT NULL,
    evaluation_run_id uuid NOT NULL,
    environment_version_id uuid NOT NULL,
    seed bigint NOT NULL,
    reward double precision,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    execution integer NOT NULL,
    superseded boolean DEFAULT false NOT NULL,
    CONSTRAINT rollouts_reward_check CHECK (((reward > '-Infinity'::double precision) AND (reward < 'Infinity'::double precision)))
);

ALTER TABLE ONLY public.rollouts FORCE ROW LEVEL SECURITY;


--
-- Name: schema_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: trajectory_artifacts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.trajectory_artifacts (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    evaluation_trial_id uuid NOT NULL,
    name text NOT NULL,
    log json NOT NULL,
    steps json NOT NULL,
    step_count integer NOT NULL,
    agent_trajectory bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    execution integer NOT NULL
);

ALTER TABLE ONLY public.trajectory_artifacts FORCE ROW LEVEL SECURITY;


--
-- Name: trajectory_parts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.trajectory_parts (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    trajectory_artifact_id uuid NOT NULL,
    first_position integer NOT NULL,
    steps json NOT NULL,
    CONSTRAINT trajectory_parts_first_position_check CHECK (((first_position % 100) = 1))
);

ALTER TABLE ONLY public.trajectory_parts FORCE ROW LEVEL SECURITY;


--
-- Name: trial_executions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.trial_executions (
    organization_id uuid DEFAULT public.current_organization_id() NOT NULL,
    evaluation_trial_id uuid NOT NULL,
    execution integer NOT NULL,
    worker text,
    status text DEFAULT 'running'::text NOT NULL,
    reward double precision,
    failure_category text,
    failure_detail text,
    stages json DEFAULT '[]'::json NOT NULL,
    metrics json,
    trajectory_artifact_id uuid,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT trial_executions_check CHECK (((status = 'running'::text) = (ended_at IS NULL))),
    CONSTRAINT trial_executions_execution_check CHECK ((execution > 0)),
    CONSTRAINT trial_executions_reward_check CHECK (((reward > '-Infinity'::double precision) AND (reward < 'Infinity'::double precision))),
    CONSTRAINT trial_executions_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'errored'::text, 'timed_out'::text, 'cancelled'::text, 'lost'::text, 'handed_back'::text])))
);

ALTER TABLE ONLY public.trial_executions FORCE ROW LEVEL SECURITY;


--
-- Name: api_tokens api_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (organization_id, id);


--
-- Name: api_tokens api_tokens_secret_sha256_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_secret_sha256_key UNIQUE (secret_sha256);


--
-- Name: artifact_files artifact_files_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.artifact_files
    ADD CONSTRAINT artifact_files_pkey PRIMARY KEY (organization_id, id);


--
-- Name: atif_verdicts atif_verdicts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.atif_verdicts
    ADD CONSTRAINT atif_verdicts_pkey PRIMARY KEY (organization_id, trajectory_artifact_id);


--
-- Name: bundles bundles_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.bundles
    ADD CONSTRAINT bundles_pkey PRIMARY KEY (organization_id, sha256);


--
-- Name: environment_version_stages environment_version_stages_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.environment_version_stages
    ADD CONSTRAINT environment_version_stages_pkey PRIMARY KEY (organization_id, stage, environment_version_id);


--
-- Name: environment_versions environment_versions_organization_id_environment_id_digest_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.environment_versions
    ADD CONSTRAINT environment_versions_organization_id_environment_id_digest_key UNIQUE (organization_id, environment_id, digest);


--
-- Name: environment_versions environment_versions_organization_id_environment_id_version_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.environment_versions
    ADD CONSTRAINT environment_versions_organization_id_environment_id_version_key UNIQUE (organization_id, environment_id, version);


--
-- Name: environment_versions environment_versions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.environment_versions
    ADD CONSTRAINT environment_versions_pkey PRIMARY KEY (organization_id, id);


--
-- Name: environments environments_organization_id_slug_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.environments
    ADD CONSTRAINT environments_organization_id_slug_key UNIQUE (organization_id, slug);


--
-- Name: environments environments_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.environments
    ADD CONSTRAINT environments_pkey PRIMARY KEY (organization_id, id);


--
-- Name: evaluation_runs evaluation_runs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluation_runs
    ADD CONSTRAINT evaluation_runs_pkey PRIMARY KEY (organization_id, id);


--
-- Name: evaluation_trials evaluation_trials_organization_id_evaluation_run_id_attempt_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluation_trials
    ADD CONSTRAINT evaluation_trials_organization_id_evaluation_run_id_attempt_key UNIQUE (organization_id, evaluation_run_id, attempt);


--
-- Name: evaluation_trials evaluation_trials_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluation_trials
    ADD CONSTRAINT evaluation_trials_pkey PRIMARY KEY (organization_id, id);


--
-- Name: evaluator_configurations evaluator_configurations_organization_id_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluator_configurations
    ADD CONSTRAINT evaluator_configurations_organization_id_name_key UNIQUE (organization_id, name);


--
-- Name: evaluator_configurations evaluator_configurations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluator_configurations
    ADD CONSTRAINT evaluator_configurations_pkey PRIMARY KEY (organization_id, id);


--
-- Name: execution_steps execution_steps_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.execution_steps
    ADD CONSTRAINT execution_steps_pkey PRIMARY KEY (organization_id, evaluation_trial_id, execution, first_position);


--
-- Name: export_audits export_audits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.export_audits
    ADD CONSTRAINT export_audits_pkey PRIMARY KEY (organization_id, id);


--
-- Name: idempotency_keys idempotency_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (organization_id, subject_id, key);


--
-- Name: memberships memberships_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_pkey PRIMARY KEY (organization_id, user_id);


--
-- Name: organizations organizations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.organizations
    ADD CONSTRAINT organizations_pkey PRIMARY KEY (id);


--
-- Name: organizations organizations_slug_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.organizations
    ADD CONSTRAINT organizations_slug_key UNIQUE (slug);


--
-- Name: rollouts rollouts_organization_id_evaluation_trial_id_execution_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rollouts
    ADD CONSTRAINT rollouts_organization_id_evaluation_trial_id_execution_key UNIQUE (organization_id, evaluation_trial_id, execution);


--
-- Name: rollouts rollouts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rollouts
    ADD CONSTRAINT rollouts_pkey PRIMARY KEY (organization_id, id);


--
-- Name: schema_migrations schema_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);


--
-- Name: secrets secrets_organization_id_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.secrets
    ADD CONSTRAINT secrets_organization_id_name_key UNIQUE (organization_id, name);


--
-- Name: secrets secrets_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (organization_id, id);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (organization_id, id);


--
-- Name: sessions sessions_secret_sha256_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_secret_sha256_key UNIQUE (secret_sha256);


--
-- Name: sign_in_links sign_in_links_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sign_in_links
    ADD CONSTRAINT sign_in_links_pkey PRIMARY KEY (organization_id, id);


--
-- Name: sign_in_links sign_in_links_secret_sha256_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sign_in_links
    ADD CONSTRAINT sign_in_links_secret_sha256_key UNIQUE (secret_sha256);


--
-- Name: trajectory_artifacts trajectory_artifacts_organization_id_evaluation_trial_id_ex_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.trajectory_artifacts
    ADD CONSTRAINT trajectory_artifacts_organization_id_evaluation_trial_id_ex_key UNIQUE (organization_id, evaluation_trial_id, execution);


--
-- Name: trajectory_artifacts trajectory_artifacts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.trajectory_artifacts
    ADD CONSTRAINT trajectory_artifacts_pkey PRIMARY KEY (organization_id, id);


--
-- Name: trajectory_parts trajectory_parts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.trajectory_parts
    ADD CONSTRAINT trajectory_parts_pkey PRIMARY KEY (organization_id, trajectory_artifact_id, first_position);


--
-- Name: trajectory_words trajectory_words_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.trajectory_words
    ADD CONSTRAINT trajectory_words_pkey PRIMARY KEY (organization_id, evaluation_trial_id);


--
-- Name: trial_executions trial_executions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.trial_executions
    ADD CONSTRAINT trial_executions_pkey PRIMARY KEY (organization_id, evaluation_trial_id, execution);


--
-- Name: users users_email_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_email_key UNIQUE (email);


--
-- Name: users users_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);


--
-- Name: artifact_files_of_artifact; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX artifact_files_of_artifact ON public.artifact_files USING btree (organization_id, trajectory_artifact_id, id);


--
-- Name: evaluation_runs_of_configuration; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX evaluation_runs_of_configuration ON public.evaluation_runs USING btree (organization_id, evaluator_configuration_id, id);


--
-- Name: evaluation_runs_of_version; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX evaluation_runs_of_version ON public.evaluation_runs USING btree (organization_id, environment_version_id, id);


--
-- Name: evaluation_trials_by_category; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX evaluation_trials_by_category ON public.evaluation_trials USING btree (organization_id, failure_category, id) WHERE (failure_category IS NOT NULL);


--
-- Name: evaluation_trials_by_reward; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX evaluation_trials_by_reward ON public.evaluation_trials USING btree (organization_id, reward, id);


--
-- Name: evaluation_trials_by_status; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX evaluation_trials_by_status ON public.evaluation_trials USING btree (organization_id, status, id);


--
-- Name: evaluation_trials_finished; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX evaluation_trials_finished ON public.evaluation_trials USING btree (organization_id, finished_at, id) WHERE (finished_at IS NOT NULL);


--
-- Name: evaluation_trials_of_version; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX evaluation_trials_of_version ON public.evaluation_trials USING btree (organization_id, environment_version_id, id);


--
-- Name: evaluation_trials_reward_highest; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX evaluation_trials_reward_highest ON public.evaluation_trials USING btree (organization_id, (
CASE
    WHEN (reward IS NULL) THEN '-Infinity'::double precision
    ELSE reward
END), id);


--
-- Name: evaluation_trials_reward_lowest; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX evaluation_trials_reward_lowest ON public.evaluation_trials USING btree (organization_id, (
CASE
    WHEN (reward IS NULL) THEN 'Infinity'::double precision
    ELSE reward
END), id);


--
-- Name: idempotency_keys_age; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idempotency_keys_age ON public.idempotency_keys USING btree (organization_id, created_at);


--
-- Name: memberships_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX memberships_user ON public.memberships USING btree (user_id, created_at);


--
-- Name: rollouts_of_run; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX rollouts_of_run ON public.rollouts USING btree (organization_id, evaluation_run_id, id);


--
-- Name: rollouts_of_version; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX rollouts_of_version ON public.rollouts USING btree (organization_id, environment_version_id, id);


--
-- Name: rollouts_scored; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX rollouts_scored ON public.rollouts USING btree (organization_id, environment_version_id, reward, id) WHERE (reward IS NOT NULL);


--
-- Name: rollouts_that_count; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX rollouts_that_count ON public.rollouts USING btree (organization_id, evaluation_trial_id) WHERE (NOT superseded);


--
-- Name: trajectory_words_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX trajectory_words_index ON public.trajectory_words USING gin (words);


--
-- Name: bundles immutable; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE ON public.bundles FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

ALTER TABLE public.bundles ENABLE ALWAYS TRIGGER immutable;


--
-- Name: environment_versions immutable; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE ON public.environment_versions FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

ALTER TABLE public.environment_versions ENABLE ALWAYS TRIGGER immutable;


--
-- Name: bundles immutable_truncate; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER immutable_truncate BEFORE TRUNCATE ON public.bundles FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

ALTER TABLE public.bundles ENABLE ALWAYS TRIGGER immutable_truncate;


--
-- Name: environment_versions immutable_truncate; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER immutable_truncate BEFORE TRUNCATE ON public.environment_versions FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

ALTER TABLE public.environment_versions ENABLE ALWAYS TRIGGER immutable_truncate;


--
-- Name: evaluation_trials keep_execution; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER keep_execution AFTER UPDATE OF status, execution, trajectory_artifact_id ON public.evaluation_trials FOR EACH ROW EXECUTE FUNCTION public.keep_execution();


--
-- Name: export_audits keep_outcome; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER keep_outcome BEFORE UPDATE ON public.export_audits FOR EACH ROW WHEN ((old.ended_at IS NOT NULL)) EXECUTE FUNCTION public.refuse_overwriting();

ALTER TABLE public.export_audits ENABLE ALWAYS TRIGGER keep_outcome;


--
-- Name: trial_executions keep_outcome; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER keep_outcome BEFORE UPDATE ON public.trial_executions FOR EACH ROW WHEN ((old.trajectory_artifact_id IS NOT NULL)) EXECUTE FUNCTION public.refuse_overwriting();


--
-- Name: evaluation_trials keep_score; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER keep_score BEFORE UPDATE ON public.evaluation_trials FOR EACH ROW WHEN ((old.reward IS NOT NULL)) EXECUTE FUNCTION public.refuse_overwriting();


--
-- Name: trajectory_artifacts keep_trajectory; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER keep_trajectory AFTER INSERT ON public.trajectory_artifacts FOR EACH ROW EXECUTE FUNCTION public.keep_trajectory();


--
-- Name: evaluation_trials note_stages; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER note_stages AFTER INSERT OR UPDATE OF stages ON public.evaluation_trials FOR EACH ROW WHEN (((new.stages)::text <> '[]'::text)) EXECUTE FUNCTION public.note_stages();


--
-- Name: evaluation_runs notify_change; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER notify_change AFTER INSERT OR UPDATE OF status ON public.evaluation_runs FOR EACH ROW EXECUTE FUNCTION public.notify_change();


--
-- Name: evaluation_trials notify_change; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER notify_change AFTER UPDATE OF status ON public.evaluation_trials FOR EACH ROW EXECUTE FUNCTION public.notify_change();


--
-- Name: api_tokens notify_identities; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER notify_identities AFTER DELETE OR UPDATE ON public.api_tokens FOR EACH STATEMENT EXECUTE FUNCTION public.notify_identities();


--
-- Name: memberships notify_identities; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER notify_identities AFTER DELETE OR UPDATE ON public.memberships FOR EACH STATEMENT EXECUTE FUNCTION public.notify_identities();


--
-- Name: sessions notify_identities; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER notify_identities AFTER DELETE OR UPDATE ON public.sessions FOR EACH STATEMENT EXECUTE FUNCTION public.notify_identities();


--
-- Name: users notify_identities; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER notify_identities AFTER DELETE OR UPDATE OF email ON public.users FOR EACH STATEMENT EXECUTE FUNCTION public.notify_identities();


--
-- Name: api_tokens api_tokens_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: artifact_files artifact_files_organization_id_trajectory_artifact_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.artifact_files
    ADD CONSTRAINT artifact_files_organization_id_trajectory_artifact_id_fkey FOREIGN KEY (organization_id, trajectory_artifact_id) REFERENCES public.trajectory_artifacts(organization_id, id);


--
-- Name: atif_verdicts atif_verdicts_organization_id_trajectory_artifact_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.atif_verdicts
    ADD CONSTRAINT atif_verdicts_organization_id_trajectory_artifact_id_fkey FOREIGN KEY (organization_id, trajectory_artifact_id) REFERENCES public.trajectory_artifacts(organization_id, id);


--
-- Name: bundles bundles_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.bundles
    ADD CONSTRAINT bundles_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: environment_version_stages environment_version_stages_organization_id_environment_ver_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.environment_version_stages
    ADD CONSTRAINT environment_version_stages_organization_id_environment_ver_fkey FOREIGN KEY (organization_id, environment_version_id) REFERENCES public.environment_versions(organization_id, id);


--
-- Name: environment_versions environment_versions_organization_id_bundle_sha256_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.environment_versions
    ADD CONSTRAINT environment_versions_organization_id_bundle_sha256_fkey FOREIGN KEY (organization_id, bundle_sha256) REFERENCES public.bundles(organization_id, sha256);


--
-- Name: environment_versions environment_versions_organization_id_environment_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.environment_versions
    ADD CONSTRAINT environment_versions_organization_id_environment_id_fkey FOREIGN KEY (organization_id, environment_id) REFERENCES public.environments(organization_id, id);


--
-- Name: environments environments_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.environments
    ADD CONSTRAINT environments_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: evaluation_runs evaluation_runs_organization_id_environment_version_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluation_runs
    ADD CONSTRAINT evaluation_runs_organization_id_environment_version_id_fkey FOREIGN KEY (organization_id, environment_version_id) REFERENCES public.environment_versions(organization_id, id);


--
-- Name: evaluation_runs evaluation_runs_organization_id_evaluator_configuration_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluation_runs
    ADD CONSTRAINT evaluation_runs_organization_id_evaluator_configuration_id_fkey FOREIGN KEY (organization_id, evaluator_configuration_id) REFERENCES public.evaluator_configurations(organization_id, id);


--
-- Name: evaluation_trials evaluation_trials_organization_id_environment_version_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluation_trials
    ADD CONSTRAINT evaluation_trials_organization_id_environment_version_id_fkey FOREIGN KEY (organization_id, environment_version_id) REFERENCES public.environment_versions(organization_id, id);


--
-- Name: evaluation_trials evaluation_trials_organization_id_evaluation_run_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluation_trials
    ADD CONSTRAINT evaluation_trials_organization_id_evaluation_run_id_fkey FOREIGN KEY (organization_id, evaluation_run_id) REFERENCES public.evaluation_runs(organization_id, id);


--
-- Name: evaluation_trials evaluation_trials_organization_id_trajectory_artifact_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluation_trials
    ADD CONSTRAINT evaluation_trials_organization_id_trajectory_artifact_id_fkey FOREIGN KEY (organization_id, trajectory_artifact_id) REFERENCES public.trajectory_artifacts(organization_id, id);


--
-- Name: evaluator_configurations evaluator_configurations_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluator_configurations
    ADD CONSTRAINT evaluator_configurations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: execution_steps execution_steps_organization_id_evaluation_trial_id_execut_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.execution_steps
    ADD CONSTRAINT execution_steps_organization_id_evaluation_trial_id_execut_fkey FOREIGN KEY (organization_id, evaluation_trial_id, execution) REFERENCES public.trial_executions(organization_id, evaluation_trial_id, execution);


--
-- Name: export_audits export_audits_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.export_audits
    ADD CONSTRAINT export_audits_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: idempotency_keys idempotency_keys_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: memberships memberships_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: memberships memberships_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: rollouts rollouts_organization_id_environment_version_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rollouts
    ADD CONSTRAINT rollouts_organization_id_environment_version_id_fkey FOREIGN KEY (organization_id, environment_version_id) REFERENCES public.environment_versions(organization_id, id);


--
-- Name: rollouts rollouts_organization_id_evaluation_run_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rollouts
    ADD CONSTRAINT rollouts_organization_id_evaluation_run_id_fkey FOREIGN KEY (organization_id, evaluation_run_id) REFERENCES public.evaluation_runs(organization_id, id);


--
-- Name: rollouts rollouts_organization_id_evaluation_trial_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rollouts
    ADD CONSTRAINT rollouts_organization_id_evaluation_trial_id_fkey FOREIGN KEY (organization_id, evaluation_trial_id) REFERENCES public.evaluation_trials(organization_id, id);


--
-- Name: secrets secrets_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.secrets
    ADD CONSTRAINT secrets_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: sessions sessions_organization_id_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES public.memberships(organization_id, user_id) ON DELETE CASCADE;


--
-- Name: sign_in_links sign_in_links_organization_id_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sign_in_links
    ADD CONSTRAINT sign_in_links_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES public.memberships(organization_id, user_id) ON DELETE CASCADE;


--
-- Name: trajectory_artifacts trajectory_artifacts_organization_id_evaluation_trial_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.trajectory_artifacts
    ADD CONSTRAINT trajectory_artifacts_organization_id_evaluation_trial_id_fkey FOREIGN KEY (organization_id, evaluation_trial_id) REFERENCES public.evaluation_trials(organization_id, id);


--
-- Name: trajectory_parts trajectory_parts_organization_id_trajectory_artifact_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.trajectory_parts
    ADD CONSTRAINT trajectory_parts_organization_id_trajectory_artifact_id_fkey FOREIGN KEY (organization_id, trajectory_artifact_id) REFERENCES public.trajectory_artifacts(organization_id, id);


--
-- Name: trajectory_words trajectory_words_organization_id_evaluation_trial_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.trajectory_words
    ADD CONSTRAINT trajectory_words_organization_id_evaluation_trial_id_fkey FOREIGN KEY (organization_id, evaluation_trial_id) REFERENCES public.evaluation_trials(organization_id, id);


--
-- Name: trial_executions trial_executions_organization_id_evaluation_trial_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.trial_executions
    ADD CONSTRAINT trial_executions_organization_id_evaluation_trial_id_fkey FOREIGN KEY (organization_id, evaluation_trial_id) REFERENCES public.evaluation_trials(organization_id, id);


--
-- Name: trial_executions trial_executions_organization_id_trajectory_artifact_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.trial_executions
    ADD CONSTRAINT trial_executions_organization_id_trajectory_artifact_id_fkey FOREIGN KEY (organization_id, trajectory_artifact_id) REFERENCES public.trajectory_artifacts(organization_id, id);


--
-- Name: api_tokens; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.api_tokens ENABLE ROW LEVEL SECURITY;

--
-- Name: artifact_files; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.artifact_files ENABLE ROW LEVEL SECURITY;

--
-- Name: atif_verdicts; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.atif_verdicts ENABLE ROW LEVEL SECURITY;

--
-- Name: api_tokens before_organization; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY before_organization ON public.api_tokens TO agentforge_owner USING (true);


--
-- Name: memberships before_organization; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY before_organization ON public.memberships TO agentforge_owner USING (true);


--
-- Name: organizations before_organization; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY before_organization ON public.organizations TO agentforge_owner USING (true);


--
-- Name: secrets before_organization; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY before_organization ON public.secrets FOR SELECT TO agentforge_owner USING (true);


--
-- Name: sessions before_organization; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY before_organization ON public.sessions TO agentforge_owner USING (true);


--
-- Name: sign_in_links before_organization; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY before_organization ON public.sign_in_links TO agentforge_owner USING (true);


--
-- Name: users before_organization; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY before_organization ON public.users TO agentforge_owner USING (true) WITH CHECK (true);


--
-- Name: bundles; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.bundles ENABLE ROW LEVEL SECURITY;

--
-- Name: environment_version_stages; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.environment_version_stages ENABLE ROW LEVEL SECURITY;

--
-- Name: environment_versions; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.environment_versions ENABLE ROW LEVEL SECURITY;

--
-- Name: environments; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.environments ENABLE ROW LEVEL SECURITY;

--
-- Name: evaluation_runs; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.evaluation_runs ENABLE ROW LEVEL SECURITY;

--
-- Name: evaluation_trials; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.evaluation_trials ENABLE ROW LEVEL SECURITY;

--
-- Name: evaluator_configurations; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.evaluator_configurations ENABLE ROW LEVEL SECURITY;

--
-- Name: execution_steps; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.execution_steps ENABLE ROW LEVEL SECURITY;

--
-- Name: export_audits; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.export_audits ENABLE ROW LEVEL SECURITY;

--
-- Name: idempotency_keys; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.idempotency_keys ENABLE ROW LEVEL SECURITY;

--
-- Name: users member; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY member ON public.users FOR SELECT TO agentforge_app USING ((EXISTS ( SELECT
   FROM public.memberships
  WHERE (memberships.user_id = users.id))));


--
-- Name: memberships; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.memberships ENABLE ROW LEVEL SECURITY;

--
-- Name: organizations; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.organizations ENABLE ROW LEVEL SECURITY;

--
-- Name: rollouts; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.rollouts ENABLE ROW LEVEL SECURITY;

--
-- Name: trajectory_words search; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY search ON public.trajectory_words FOR SELECT TO agentforge_owner USING (true);


--
-- Name: secrets; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.secrets ENABLE ROW LEVEL SECURITY;

--
-- Name: sessions; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.sessions ENABLE ROW LEVEL SECURITY;

--
-- Name: sign_in_links; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.sign_in_links ENABLE ROW LEVEL SECURITY;

--
-- Name: api_tokens tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.api_tokens TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: artifact_files tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.artifact_files TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: atif_verdicts tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.atif_verdicts TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: bundles tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.bundles TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: environment_version_stages tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.environment_version_stages TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: environment_versions tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.environment_versions TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: environments tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.environments TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: evaluation_runs tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.evaluation_runs TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: evaluation_trials tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.evaluation_trials TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: evaluator_configurations tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.evaluator_configurations TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: execution_steps tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.execution_steps TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: export_audits tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.export_audits TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: idempotency_keys tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.idempotency_keys TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: memberships tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.memberships TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: organizations tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.organizations TO agentforge_app USING ((id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: rollouts tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.rollouts TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: secrets tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.secrets TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: sessions tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.sessions TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: sign_in_links tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.sign_in_links TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: trajectory_artifacts tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.trajectory_artifacts TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: trajectory_parts tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.trajectory_parts TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: trajectory_words tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.trajectory_words TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: trial_executions tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.trial_executions TO agentforge_app USING ((organization_id = ( SELECT (NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid AS "nullif")));


--
-- Name: trajectory_artifacts; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.trajectory_artifacts ENABLE ROW LEVEL SECURITY;

--
-- Name: trajectory_parts; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.trajectory_parts ENABLE ROW LEVEL SECURITY;

--
-- Name: trajectory_words; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.trajectory_words ENABLE ROW LEVEL SECURITY;

--
-- Name: trial_executions; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.trial_executions ENABLE ROW LEVEL SECURITY;

--
-- Name: users; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.users ENABLE ROW LEVEL SECURITY;

--
-- Name: FUNCTION current_organization_id(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.current_organization_id() FROM PUBLIC;
GRANT ALL ON FUNCTION public.current_organization_id() TO agentforge_app;


--
-- Name: TABLE api_tokens; Type: ACL; Schema: public; Owner: -
--

GRANT INSERT ON TABLE public.api_tokens TO agentforge_app;


--
-- Name: COLUMN api_tokens.organization_id; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(organization_id) ON TABLE public.api_tokens TO agentforge_app;


--
-- Name: COLUMN api_tokens.id; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(id) ON TABLE public.api_tokens TO agentforge_app;


--
-- Name: COLUMN api_tokens.name; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(name) ON TABLE public.api_tokens TO agentforge_app;


--
-- Name: COLUMN api_tokens.role; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(role) ON TABLE public.api_tokens TO agentforge_app;


--
-- Name: COLUMN api_tokens.created_at; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(created_at) ON TABLE public.api_tokens TO agentforge_app;


--
-- Name: COLUMN api_tokens.expires_at; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(expires_at) ON TABLE public.api_tokens TO agentforge_app;


--
-- Name: COLUMN api_tokens.revoked_at; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(revoked_at),UPDATE(revoked_at) ON TABLE public.api_tokens TO agentforge_app;


--
-- Name: TABLE memberships; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE ON TABLE public.memberships TO agentforge_app;


--
-- Name: COLUMN memberships.role; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(role) ON TABLE public.memberships TO agentforge_app;


--
-- Name: TABLE sessions; Type: ACL; Schema: public; Owner: -
--

GRANT INSERT,DELETE ON TABLE public.sessions TO agentforge_app;


--
-- Name: COLUMN sessions.organization_id; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(organization_id) ON TABLE public.sessions TO agentforge_app;


--
-- Name: COLUMN sessions.id; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(id) ON TABLE public.sessions TO agentforge_app;


--
-- Name: COLUMN sessions.user_id; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(user_id) ON TABLE public.sessions TO agentforge_app;


--
-- Name: COLUMN sessions.created_at; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(created_at) ON TABLE public.sessions TO agentforge_app;


--
-- Name: COLUMN sessions.expires_at; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(expires_at) ON TABLE public.sessions TO agentforge_app;


--
-- Name: COLUMN users.id; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(id) ON TABLE public.users TO agentforge_app;


--
-- Name: COLUMN users.email; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(email) ON TABLE public.users TO agentforge_app;


--
-- Name: COLUMN users.created_at; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT(created_at) ON TABLE public.users TO agentforge_app;


--
-- Name: FUNCTION identify(secret_sha256 bytea); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.identify(secret_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION public.identify(secret_sha256 bytea) TO agentforge_app;


--
-- Name: FUNCTION keep_execution(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.keep_execution() FROM PUBLIC;


--
-- Name: FUNCTION keep_trajectory(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.keep_trajectory() FROM PUBLIC;


--
-- Name: FUNCTION note_stages(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.note_stages() FROM PUBLIC;


--
-- Name: FUNCTION notify_change(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.notify_change() FROM PUBLIC;


--
-- Name: FUNCTION notify_identities(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.notify_identities() FROM PUBLIC;


--
-- Name: TABLE organizations; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.organizations TO agentforge_app;


--
-- Name: FUNCTION organization_by_slug(slug text); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.organization_by_slug(slug text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.organization_by_slug(slug text) TO agentforge_app;


--
-- Name: FUNCTION organization_of_member(user_id uuid, slug text); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.organization_of_member(user_id uuid, slug text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.organization_of_member(user_id uuid, slug text) TO agentforge_app;


--
-- Name: FUNCTION organization_word(organization_id uuid); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.organization_word(organization_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.organization_word(organization_id uuid) TO agentforge_app;


--
-- Name: TABLE secrets; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE ON TABLE public.secrets TO agentforge_app;


--
-- Name: COLUMN secrets.ciphertext; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(ciphertext) ON TABLE public.secrets TO agentforge_app;


--
-- Name: COLUMN secrets.updated_at; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(updated_at) ON TABLE public.secrets TO agentforge_app;


--
-- Name: COLUMN secrets.updated_by; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(updated_by) ON TABLE public.secrets TO agentforge_app;


--
-- Name: FUNCTION organizations_with_secrets(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.organizations_with_secrets() FROM PUBLIC;
GRANT ALL ON FUNCTION public.organizations_with_secrets() TO agentforge_app;


--
-- Name: TABLE sign_in_links; Type: ACL; Schema: public; Owner: -
--

GRANT INSERT ON TABLE public.sign_in_links TO agentforge_app;


--
-- Name: FUNCTION redeem_sign_in_link(secret_sha256 bytea); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.redeem_sign_in_link(secret_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION public.redeem_sign_in_link(secret_sha256 bytea) TO agentforge_app;


--
-- Name: FUNCTION refuse_change(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.refuse_change() FROM PUBLIC;


--
-- Name: FUNCTION refuse_overwriting(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.refuse_overwriting() FROM PUBLIC;


--
-- Name: FUNCTION searchable_text(value text); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.searchable_text(value text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.searchable_text(value text) TO agentforge_app;


--
-- Name: FUNCTION search_query(value text); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.search_query(value text) FROM PUBLIC;


--
-- Name: FUNCTION searchable_json(value json); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.searchable_json(value json) FROM PUBLIC;
GRANT ALL ON FUNCTION public.searchable_json(value json) TO agentforge_app;


--
-- Name: FUNCTION set_password(user_id uuid, password_hash text); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.set_password(user_id uuid, password_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.set_password(user_id uuid, password_hash text) TO agentforge_app;


--
-- Name: FUNCTION sign_in_candidate(email text); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.sign_in_candidate(email text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.sign_in_candidate(email text) TO agentforge_app;


--
-- Name: FUNCTION trajectory_blocks(steps json); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.trajectory_blocks(steps json) FROM PUBLIC;
GRANT ALL ON FUNCTION public.trajectory_blocks(steps json) TO agentforge_app;


--
-- Name: FUNCTION trajectory_words_of(organization_id uuid, log json, steps json); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.trajectory_words_of(organization_id uuid, log json, steps json) FROM PUBLIC;
GRANT ALL ON FUNCTION public.trajectory_words_of(organization_id uuid, log json, steps json) TO agentforge_app;


--
-- Name: TABLE trajectory_words; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.trajectory_words TO agentforge_app;


--
-- Name: COLUMN trajectory_words.words; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(words) ON TABLE public.trajectory_words TO agentforge_app;


--
-- Name: FUNCTION trials_with_words(query text); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.trials_with_words(query text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.trials_with_words(query text) TO agentforge_app;


--
-- Name: FUNCTION user_by_email(email text); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.user_by_email(email text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.user_by_email(email text) TO agentforge_app;


--
-- Name: TABLE artifact_files; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.artifact_files TO agentforge_app;


--
-- Name: TABLE atif_verdicts; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.atif_verdicts TO agentforge_app;


--
-- Name: TABLE bundles; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.bundles TO agentforge_app;


--
-- Name: TABLE environment_version_stages; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.environment_version_stages TO agentforge_app;


--
-- Name: TABLE environment_versions; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.environment_versions TO agentforge_app;


--
-- Name: TABLE environments; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.environments TO agentforge_app;


--
-- Name: TABLE evaluation_runs; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.evaluation_runs TO agentforge_app;


--
-- Name: COLUMN evaluation_runs.attempt_count; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(attempt_count) ON TABLE public.evaluation_runs TO agentforge_app;


--
-- Name: COLUMN evaluation_runs.status; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(status) ON TABLE public.evaluation_runs TO agentforge_app;


--
-- Name: COLUMN evaluation_runs.pass_at_k; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(pass_at_k) ON TABLE public.evaluation_runs TO agentforge_app;


--
-- Name: COLUMN evaluation_runs.unscored_attempts; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(unscored_attempts) ON TABLE public.evaluation_runs TO agentforge_app;


--
-- Name: COLUMN evaluation_runs.failure_detail; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(failure_detail) ON TABLE public.evaluation_runs TO agentforge_app;


--
-- Name: COLUMN evaluation_runs.job_id; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(job_id) ON TABLE public.evaluation_runs TO agentforge_app;


--
-- Name: COLUMN evaluation_runs.started_at; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(started_at) ON TABLE public.evaluation_runs TO agentforge_app;


--
-- Name: COLUMN evaluation_runs.finished_at; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(finished_at) ON TABLE public.evaluation_runs TO agentforge_app;


--
-- Name: TABLE evaluation_trials; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.status; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(status) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.execution; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(execution) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.lost_executions; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(lost_executions) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.reward; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(reward) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.failure_category; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(failure_category) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.failure_detail; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(failure_detail) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.stages; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(stages) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.metrics; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(metrics) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.trajectory_artifact_id; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(trajectory_artifact_id) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.started_at; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(started_at) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.finished_at; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(finished_at) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.redactions; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(redactions) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.worker; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(worker) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: COLUMN evaluation_trials.job_id; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(job_id) ON TABLE public.evaluation_trials TO agentforge_app;


--
-- Name: TABLE evaluator_configurations; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.evaluator_configurations TO agentforge_app;


--
-- Name: TABLE execution_steps; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE ON TABLE public.execution_steps TO agentforge_app;


--
-- Name: TABLE export_audits; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.export_audits TO agentforge_app;


--
-- Name: COLUMN export_audits.ended_at; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(ended_at) ON TABLE public.export_audits TO agentforge_app;


--
-- Name: COLUMN export_audits.outcome; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(outcome) ON TABLE public.export_audits TO agentforge_app;


--
-- Name: COLUMN export_audits.line_count; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(line_count) ON TABLE public.export_audits TO agentforge_app;


--
-- Name: COLUMN export_audits.byte_count; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(byte_count) ON TABLE public.export_audits TO agentforge_app;


--
-- Name: TABLE idempotency_keys; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE ON TABLE public.idempotency_keys TO agentforge_app;


--
-- Name: COLUMN idempotency_keys.result_id; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(result_id) ON TABLE public.idempotency_keys TO agentforge_app;


--
-- Name: TABLE rollouts; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.rollouts TO agentforge_app;


--
-- Name: COLUMN rollouts.superseded; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(superseded) ON TABLE public.rollouts TO agentforge_app;


--
-- Name: TABLE schema_migrations; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT ON TABLE public.schema_migrations TO agentforge_app;


--
-- Name: TABLE trajectory_artifacts; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.trajectory_artifacts TO agentforge_app;


--
-- Name: TABLE trajectory_parts; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.trajectory_parts TO agentforge_app;


--
-- Name: TABLE trial_executions; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.trial_executions TO agentforge_app;


--
-- Name: COLUMN trial_executions.status; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(status) ON TABLE public.trial_executions TO agentforge_app;


--
-- Name: COLUMN trial_executions.reward; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(reward) ON TABLE public.trial_executions TO agentforge_app;


--
-- Name: COLUMN trial_executions.failure_category; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(failure_category) ON TABLE public.trial_executions TO agentforge_app;


--
-- Name: COLUMN trial_executions.failure_detail; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(failure_detail) ON TABLE public.trial_executions TO agentforge_app;


--
-- Name: COLUMN trial_executions.stages; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(stages) ON TABLE public.trial_executions TO agentforge_app;


--
-- Name: COLUMN trial_executions.metrics; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(metrics) ON TABLE public.trial_executions TO agentforge_app;


--
-- Name: COLUMN trial_executions.trajectory_artifact_id; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(trajectory_artifact_id) ON TABLE public.trial_executions TO agentforge_app;


--
-- Name: COLUMN trial_executions.ended_at; Type: ACL; Schema: public; Owner: -
--

GRANT UPDATE(ended_at) ON TABLE public.trial_executions TO agentforge_app;


--
-- PostgreSQL database dump complete
--


