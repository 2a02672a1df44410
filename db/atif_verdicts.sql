-- name: create
insert into atif_verdicts (trajectory_artifact_id, valid, version, errors, is_json)
values ($1, $2, $3, $4, $5)
returning trajectory_artifact_id;

-- name: of_artifacts
select verdict.trajectory_artifact_id, verdict.valid, verdict.version, verdict.errors,
  artifact.agent_trajectory is not null as is_kept
from atif_verdicts verdict
join trajectory_artifacts artifact
  on artifact.organization_id = verdict.organization_id and artifact.id = verdict.trajectory_artifact_id
where verdict.trajectory_artifact_id = any($1::uuid[]);

-- name: documents
-- As text, since reading it as json once more would only take time.
select artifact.id, convert_from(artifact.agent_trajectory, 'UTF8') as document
from trajectory_artifacts artifact
join atif_verdicts verdict
  on verdict.organization_id = artifact.organization_id and verdict.trajectory_artifact_id = artifact.id
where artifact.id = any($1::uuid[]) and verdict.is_json and artifact.agent_trajectory is not null;
