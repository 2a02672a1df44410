-- What pages, comparisons and searches of trajectories need so that they read as much as they show.

-- The steps of a long trajectory, 100 to a row; those of a shorter one are in its artifact alone.
create table trajectory_parts (
  organization_id uuid not null default current_organization_id(),
  trajectory_artifact_id uuid not null,
  first_position integer not null check (first_position % 100 = 1),
  steps json not null,
  primary key (organization_id, trajectory_artifact_id, first_position),
  foreign key (organization_id, trajectory_artifact_id) references trajectory_artifacts
);

-- The words of a trial's log and steps. One of them is its organization's, so that the index, which row-level security
-- keeps the service itself from using, goes to that organization's rows at once.
create table trajectory_words (
  organization_id uuid not null default current_organization_id(),
  evaluation_trial_id uuid not null,
  words tsvector not null,
  primary key (organization_id, evaluation_trial_id),
  foreign key (organization_id, evaluation_trial_id) references evaluation_trials
);
-- Words of more than 2 kB out of the way of whoever reads ids; and no statistics, or the planner might read all words
-- instead of the index.
alter table trajectory_words set (toast_tuple_target = 128), alter column words set statistics 0;

alter table trajectory_parts enable row level security, force row level security;
create policy tenant on trajectory_parts to agentforge_app
  using (organization_id = (select nullif(current_setting('agentforge.organization_id', true), '')::uuid));
grant select, insert on trajectory_parts to agentforge_app;
alter table trajectory_words enable row level security, force row level security;
create policy tenant on trajectory_words to agentforge_app
  using (organization_id = (select nullif(current_setting('agentforge.organization_id', true), '')::uuid));
grant insert on trajectory_words to agentforge_app;

-- 100 steps to a row, their text as it is.
create function trajectory_blocks(steps json) returns table (first_position integer, block json)
  language sql immutable parallel safe set search_path = pg_catalog
begin atomic
  select min(step.position)::integer, ('[' || string_agg(step.value::text, ',' order by step.position) || ']')::json
  from json_array_elements(trajectory_blocks.steps) with ordinality as step (value, position)
  group by (step.position - 1) / 100;
end;

-- JSON without what text cannot hold: NUL and lone surrogates. An escaped backslash goes first, and what then follows
-- a backslash is what it escapes.
create function searchable_json(value json) returns json
  language sql immutable parallel safe set search_path = pg_catalog
begin atomic
  select regexp_replace(
    replace(replace(searchable_json.value::text, '\\', ' '), '\u0000', ' '),
    '\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}',
    ' ', 'g')::json;
end;

-- Words and spaces: the parser would take "tools/list" for one word, the name of a file, and leave out what is in tags.
create function searchable_text(value text) returns text
  language sql immutable parallel safe set search_path = pg_catalog
begin atomic
  -- In every script, whatever the database's own collation takes for letters.
  select regexp_replace(lower(searchable_text.value collate pg_c_utf8), '[[:punct:][:space:]]+', ' ', 'g');
end;

-- Has capital letters, which no word of a text has.
create function organization_word(organization_id uuid) returns text
  language sql immutable parallel safe set search_path = pg_catalog
  return 'ORGANIZATION ' || organization_word.organization_id;

-- The first 100,000 characters of the log and 2,000 of each text of a step, ten million in all: some seconds' work.
-- A tsvector holds a megabyte; a block of steps that no longer fits is left out, never refused.
create function trajectory_words_of(organization_id uuid, log json, steps json) returns tsvector
  language plpgsql immutable set search_path = pg_catalog
as $$
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

-- What somebody looks for: words, "quoted phrases" and -words. What punctuation joins are words like others, since
-- positions, which phrases need, end with a trial's first 16,383 words; only what must not be there is a phrase.
create function search_query(value text) returns tsquery
  language sql immutable parallel safe set search_path = pg_catalog
begin atomic
  select websearch_to_tsquery('simple', string_agg(
    case when found.parts[1] = '-' or found.parts[2] like '"%'
      then found.parts[1] || '"' || public.searchable_text(found.parts[2]) || '"'
      else public.searchable_text(found.parts[2]) end, ' ' order by found.position))
  from regexp_matches(search_query.value, '(-?)("[^"]*"?|[^\s"]+)', 'g') with ordinality as found (parts, position);
end;

-- Runs as the owner: only so may it use the index. The organization is compared in a way that no index serves, or the
-- planner might read all of its words instead.
create function trials_with_words(query text) returns setof uuid
  language sql stable security definer set search_path = public, pg_temp rows 100
begin atomic
  select found.evaluation_trial_id
  from trajectory_words found
  where found.words @@ (
      select quote_literal(organization_word(current_organization_id()))::tsquery && sought
      from search_query(trials_with_words.query) sought where numnode(sought) > 0)
    and found.organization_id is not distinct from (select current_organization_id());
end;

create function keep_trajectory() returns trigger
  language plpgsql set search_path = pg_catalog
as $$
begin
  if new.step_count > 100 then
    insert into public.trajectory_parts (organization_id, trajectory_artifact_id, first_position, steps)
    select new.organization_id, new.id, part.first_position, part.block from public.trajectory_blocks(new.steps) part;
  end if;
  insert into public.trajectory_words (organization_id, evaluation_trial_id, words)
  values (new.organization_id, new.evaluation_trial_id,
    public.trajectory_words_of(new.organization_id, new.log, new.steps));
  return null;
end $$;
create trigger keep_trajectory after insert on trajectory_artifacts
  for each row execute function keep_trajectory();

revoke execute on function trajectory_blocks(json), searchable_json(json), searchable_text(text),
  organization_word(uuid), trajectory_words_of(uuid, json, json), search_query(text), trials_with_words(text),
  keep_trajectory() from public;
grant execute on function trajectory_blocks(json), searchable_json(json), searchable_text(text),
  organization_word(uuid), trajectory_words_of(uuid, json, json), trials_with_words(text) to agentforge_app;

-- What is there already, for which a minute may not be enough.
set local statement_timeout = 0;
create policy before_organization on trajectory_artifacts to current_user using (true);
create policy before_organization on trajectory_parts to current_user using (true) with check (true);
create policy before_organization on trajectory_words to current_user using (true) with check (true);
insert into trajectory_parts (organization_id, trajectory_artifact_id, first_position, steps)
  select artifact.organization_id, artifact.id, part.first_position, part.block
  from trajectory_artifacts artifact cross join lateral trajectory_blocks(artifact.steps) part
  where artifact.step_count > 100;
insert into trajectory_words (organization_id, evaluation_trial_id, words)
  select artifact.organization_id, artifact.evaluation_trial_id,
    trajectory_words_of(artifact.organization_id, artifact.log, artifact.steps)
  from trajectory_artifacts artifact;
-- Made last, which is quicker than to fill it row by row.
create index trajectory_words_index on trajectory_words using gin (words);
analyze trajectory_parts, trajectory_words;
drop policy before_organization on trajectory_artifacts;
drop policy before_organization on trajectory_parts;
drop policy before_organization on trajectory_words;
-- Of trials_with_words, which looks at one organization only.
create policy search on trajectory_words for select to current_user using (true);
