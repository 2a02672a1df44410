-- name: put
-- Content-addressed: the same archive again is no change.
insert into bundles (sha256, content) values ($1, $2)
on conflict (organization_id, sha256) do nothing
returning sha256;

-- name: content
select content from bundles where sha256 = $1;

-- name: exists
select sha256 from bundles where sha256 = $1;
