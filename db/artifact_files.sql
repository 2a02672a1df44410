-- name: create
-- Files of artifact $1 in their order, from arrays of their parts.
insert into artifact_files (trajectory_artifact_id, path, byte_size, content, omitted)
select $1::uuid, file.path, file.byte_size, file.content, file.omitted
from unnest($2::json[], $3::bigint[], $4::bytea[], $5::text[])
  with ordinality as file (path, byte_size, content, omitted, position)
order by file.position
returning id;

-- name: of_artifacts
-- Without their content, which can be large.
select id, trajectory_artifact_id, path, byte_size, sha256, omitted
from artifact_files
where trajectory_artifact_id = any($1::uuid[])
order by trajectory_artifact_id, id;

-- name: content
select path, sha256, content
from artifact_files
where trajectory_artifact_id = $1 and id = $2 and content is not null;
