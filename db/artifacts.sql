-- name: create
insert into trajectory_artifacts (evaluation_trial_id, name, log, steps, step_count, agent_trajectory)
values ($1, $2, $3, $4, $5, $6)
returning id;

-- name: by_ids
-- Without the steps, which can be large.
select id, evaluation_trial_id, log, step_count, agent_trajectory is not null as has_agent_trajectory
from trajectory_artifacts
where id = any($1::uuid[]);

-- name: steps
select id, steps from trajectory_artifacts where id = any($1::uuid[]);

-- name: file
select name, log, steps from trajectory_artifacts where id = $1;

-- name: agent_trajectory
select agent_trajectory as content from trajectory_artifacts where id = $1 and agent_trajectory is not null;
