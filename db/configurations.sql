-- name: by_ids
select id, name, attempt_count, agent_command, secrets, created_at
from evaluator_configurations
where id = any($1::uuid[]);

-- name: by_name
select id, name, attempt_count, agent_command, secrets, created_at
from evaluator_configurations
where name = $1;

-- name: page
-- Newest first, below the id $1.
select id, name, attempt_count, agent_command, secrets, created_at
from evaluator_configurations
where $1::uuid is null or id < $1
order by id desc
limit $2::int;

-- name: count
select count(*) as total from evaluator_configurations;

-- name: create
insert into evaluator_configurations (name, attempt_count, agent_command, secrets) values ($1, $2, $3, $4)
on conflict (organization_id, name) do nothing
returning id, name, attempt_count, agent_command, secrets, created_at;
