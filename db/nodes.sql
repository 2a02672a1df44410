-- name: find
-- What kind of thing each id of $1 names in the current organization.
select id, 'Organization' as kind from organizations where id = any($1::uuid[])
union all select id, 'Environment' from environments where id = any($1::uuid[])
union all select id, 'EnvironmentVersion' from environment_versions where id = any($1::uuid[])
union all select id, 'EvaluatorConfiguration' from evaluator_configurations where id = any($1::uuid[])
union all select id, 'EvaluationRun' from evaluation_runs where id = any($1::uuid[])
union all select id, 'EvaluationTrial' from evaluation_trials where id = any($1::uuid[])
union all select id, 'Rollout' from rollouts where id = any($1::uuid[]);
