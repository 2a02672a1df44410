-- What agents leave: what was found out about their own trajectory, and the files that the manifest asks to keep.

-- Of a trajectory.json that was found, kept or not; none for trials that ended before this was looked at.
create table atif_verdicts (
  organization_id uuid not null default current_organization_id(),
  trajectory_artifact_id uuid not null,
  valid boolean not null,
  -- The schema_version that it names, known or not.
  version text,
  errors text[] not null,
  -- Whether the bytes that were kept are one JSON value in UTF-8, which can be passed on as it is.
  is_json boolean not null,
  primary key (organization_id, trajectory_artifact_id),
  foreign key (organization_id, trajectory_artifact_id) references trajectory_artifacts,
  check (valid = (cardinality(errors) = 0)),
  check (is_json or not valid)
);

create table artifact_files (
  organization_id uuid not null default current_organization_id(),
  id uuid not null default uuidv7(),
  trajectory_artifact_id uuid not null,
  -- A JSON string, since names may hold bytes that are no UTF-8, which stand there as lone surrogates.
  path json not null,
  -- Of what is kept, or of the file that was left out.
  byte_size bigint not null check (byte_size >= 0),
  content bytea,
  sha256 text generated always as (encode(sha256(content), 'hex')) stored,
  -- Why it was left out.
  omitted text,
  primary key (organization_id, id),
  foreign key (organization_id, trajectory_artifact_id) references trajectory_artifacts,
  check ((content is null) = (omitted is not null))
);
create index artifact_files_of_artifact on artifact_files (organization_id, trajectory_artifact_id, id);

do $$
declare tenant_table text;
begin
  foreach tenant_table in array array['atif_verdicts', 'artifact_files'] loop
    execute format('alter table %I enable row level security, force row level security', tenant_table);
    execute format(
      'create policy tenant on %I to agentforge_app using '
      '(organization_id = (select nullif(current_setting(''agentforge.organization_id'', true), '''')::uuid))',
      tenant_table);
    execute format('grant select, insert on %I to agentforge_app', tenant_table);
  end loop;
end $$;
