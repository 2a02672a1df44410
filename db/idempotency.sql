-- name: forget
-- Keys are kept for a day.
delete from idempotency_keys where created_at < now() - interval '24 hours';

-- name: take
-- The key $2 of subject $1, for the request with SHA-256 $3. No row when it is taken; waits for a change under way.
insert into idempotency_keys (subject_id, key, request_sha256) values ($1, $2, $3)
on conflict (organization_id, subject_id, key) do nothing
returning subject_id as id;

-- name: find
select request_sha256, result_id from idempotency_keys where subject_id = $1 and key = $2;

-- name: settle
update idempotency_keys set result_id = $3 where subject_id = $1 and key = $2;
