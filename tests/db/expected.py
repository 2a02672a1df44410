"""What the schema is meant to hold and to allow, written out so that a change of it is reviewed."""

TENANT_TABLES = {
    "api_tokens",
    "artifact_files",
    "atif_verdicts",
    "bundles",
    "environment_version_stages",
    "environment_versions",
    "environments",
    "evaluation_runs",
    "evaluation_trials",
    "evaluator_configurations",
    "execution_steps",
    "export_audits",
    "idempotency_keys",
    "memberships",
    "rollouts",
    "secrets",
    "sessions",
    "sign_in_links",
    "trajectory_artifacts",
    "trajectory_parts",
    "trajectory_words",
    "trial_executions",
}
WALLED_TABLES = TENANT_TABLES | {"organizations", "users"}
UNWALLED_TABLES = {"schema_migrations"}

# A privilege on whole tables by its name, one on columns with them.
GRANTS = {
    "api_tokens": {
        "INSERT",
        "SELECT (created_at, expires_at, id, name, organization_id, revoked_at, role)",
        "UPDATE (revoked_at)",
    },
    "artifact_files": {"INSERT", "SELECT"},
    "atif_verdicts": {"INSERT", "SELECT"},
    "bundles": {"INSERT", "SELECT"},
    "environment_version_stages": {"INSERT", "SELECT"},
    "environment_versions": {"INSERT", "SELECT"},
    "environments": {"INSERT", "SELECT"},
    "evaluation_runs": {
        "INSERT",
        "SELECT",
        "UPDATE (attempt_count, failure_detail, finished_at, job_id, pass_at_k, started_at, status, unscored_attempts)",
    },
    "evaluation_trials": {
        "INSERT",
        "SELECT",
        "UPDATE (execution, failure_category, failure_detail, finished_at, job_id, lost_executions, metrics, "
        "redactions, reward, stages, started_at, status, trajectory_artifact_id, worker)",
    },
    "evaluator_configurations": {"INSERT", "SELECT"},
    "execution_steps": {"DELETE", "INSERT", "SELECT"},
    "export_audits": {"INSERT", "SELECT", "UPDATE (byte_count, ended_at, line_count, outcome)"},
    "idempotency_keys": {"DELETE", "INSERT", "SELECT", "UPDATE (result_id)"},
    "memberships": {"DELETE", "INSERT", "SELECT", "UPDATE (role)"},
    "organizations": {"INSERT", "SELECT"},
    "rollouts": {"INSERT", "SELECT", "UPDATE (superseded)"},
    "schema_migrations": {"SELECT"},
    "secrets": {"DELETE", "INSERT", "SELECT", "UPDATE (ciphertext, updated_at, updated_by)"},
    "sessions": {"DELETE", "INSERT", "SELECT (created_at, expires_at, id, organization_id, user_id)"},
    "sign_in_links": {"INSERT"},
    "trajectory_artifacts": {"INSERT", "SELECT"},
    "trajectory_parts": {"INSERT", "SELECT"},
    "trajectory_words": {"INSERT", "SELECT", "UPDATE (words)"},
    "trial_executions": {
        "INSERT",
        "SELECT",
        "UPDATE (ended_at, failure_category, failure_detail, metrics, reward, stages, status, trajectory_artifact_id)",
    },
    "users": {"SELECT (created_at, email, id)"},
}

# What runs as the owner: it must be known before the organization is, or takes an index that row-level security bars.
SECURITY_DEFINERS = {
    "identify(bytea)",
    "organization_by_slug(text)",
    "organization_of_member(uuid,text)",
    "organizations_with_secrets()",
    "redeem_sign_in_link(bytea)",
    "set_password(uuid,text)",
    "sign_in_candidate(text)",
    "trials_with_words(text)",
    "user_by_email(text)",
}

# Names and secrets that are one of a kind in the whole database, so that they can be looked up without knowing the
# organization; a conflict on one tells that somebody has it.
UNIQUE_ACROSS_ORGANIZATIONS = {
    ("api_tokens", "secret_sha256"),
    ("organizations", "id"),
    ("organizations", "slug"),
    ("sessions", "secret_sha256"),
    ("sign_in_links", "secret_sha256"),
    ("users", "email"),
    ("users", "id"),
}
