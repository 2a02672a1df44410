-- name: create
insert into trajectory_artifacts (evaluation_trial_id, execution, name, log, steps, step_count, agent_trajectory)
values ($1, $2, $3, $4, $5, $6, $7)
returning id;

-- name: by_ids
-- Without the steps, which can be large.
select id, evaluation_trial_id, log, step_count, agent_trajectory is not null as has_agent_trajectory
from trajectory_artifacts
where id = any($1::uuid[]);

-- name: steps
-- Of each artifact of $3 what holds its steps at the positions $1 to $2: of a long one its parts, of another all of it.
select artifact.id, 1 as first_position, artifact.steps
from trajectory_artifacts artifact
where artifact.id = any($3::uuid[]) and artifact.step_count <= 100
union all
select part.trajectory_artifact_id, part.first_position, part.steps
from trajectory_parts part
where part.trajectory_artifact_id = any($3::uuid[]) and part.first_position between $1::int - 99 and $2::int
order by 1, 2;

-- name: file
select name, log, steps from trajectory_artifacts where id = $1;

-- name: agent_trajectory
select agent_trajectory as content from trajectory_artifacts where id = $1 and agent_trajectory is not null;
