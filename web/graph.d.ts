// Written by `just generate` from the documents in web/ and the schema.

export interface Operations {
  Environments: {
    variables: { first: number };
    result: { environments: { totalCount: number; pageInfo: { hasNextPage: boolean }; edges: ({ node: { id: string; slug: string; name: string; latestVersion: { id: string; version: number; createdAt: string; runs: { totalCount: number; edges: ({ node: { id: string; status: "QUEUED" | "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED"; createdAt: string; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null })[] } })[] } } | null } })[] } };
  };
  VersionById: {
    variables: { id: string; runs: number };
    result: { environmentVersion: { id: string; version: number; digest: string; manifest: any; createdAt: string; passAtK: ({ k: number; estimate: number | null; passHatK: number | null })[]; environment: { slug: string; name: string; versions: { edges: ({ node: { id: string; version: number } })[] } }; runs: { totalCount: number; pageInfo: { hasNextPage: boolean }; edges: ({ node: { id: string; trigger: "EVALUATION" | "RESET" | "IMPORT"; resetMode: "NEW_WORKSPACE" | "NEW_WORLD" | null; seed: string; attemptCount: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED"; unscoredAttempts: number | null; failureDetail: string | null; createdAt: string; startedAt: string | null; finishedAt: string | null; passAtK: ({ k: number; estimate: number | null; passHatK: number | null })[]; evaluatorConfiguration: { id: string; name: string }; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null; failureCategory: string | null })[] } })[] } } | null; evaluatorConfigurations: { edges: ({ node: { id: string; name: string; attemptCount: number } })[] } };
  };
  LatestVersion: {
    variables: { slug: string; runs: number };
    result: { environment: { name: string; slug: string; latestVersion: { id: string; version: number; digest: string; manifest: any; createdAt: string; passAtK: ({ k: number; estimate: number | null; passHatK: number | null })[]; environment: { slug: string; name: string; versions: { edges: ({ node: { id: string; version: number } })[] } }; runs: { totalCount: number; pageInfo: { hasNextPage: boolean }; edges: ({ node: { id: string; trigger: "EVALUATION" | "RESET" | "IMPORT"; resetMode: "NEW_WORKSPACE" | "NEW_WORLD" | null; seed: string; attemptCount: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED"; unscoredAttempts: number | null; failureDetail: string | null; createdAt: string; startedAt: string | null; finishedAt: string | null; passAtK: ({ k: number; estimate: number | null; passHatK: number | null })[]; evaluatorConfiguration: { id: string; name: string }; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null; failureCategory: string | null })[] } })[] } } | null } | null; evaluatorConfigurations: { edges: ({ node: { id: string; name: string; attemptCount: number } })[] } };
  };
  Viewer: {
    variables: Record<string, never>;
    result: { viewer: { id: string; email: string | null; role: "OWNER" | "MEMBER" | "VIEWER" | "WORKER"; organization: { id: string; slug: string; name: string } } };
  };
  RunUpdated: {
    variables: { id: string };
    result: { evaluationRunUpdated: { id: string; trigger: "EVALUATION" | "RESET" | "IMPORT"; resetMode: "NEW_WORKSPACE" | "NEW_WORLD" | null; seed: string; attemptCount: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED"; unscoredAttempts: number | null; failureDetail: string | null; createdAt: string; startedAt: string | null; finishedAt: string | null; passAtK: ({ k: number; estimate: number | null; passHatK: number | null })[]; evaluatorConfiguration: { id: string; name: string }; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null; failureCategory: string | null })[] } };
  };
  CancelRun: {
    variables: { input: { clientMutationId?: string | null; evaluationRunId: string } };
    result: { cancelEvaluationRun: { message: string } | { id: string; trigger: "EVALUATION" | "RESET" | "IMPORT"; resetMode: "NEW_WORKSPACE" | "NEW_WORLD" | null; seed: string; attemptCount: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED"; unscoredAttempts: number | null; failureDetail: string | null; createdAt: string; startedAt: string | null; finishedAt: string | null; passAtK: ({ k: number; estimate: number | null; passHatK: number | null })[]; evaluatorConfiguration: { id: string; name: string }; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null; failureCategory: string | null })[] } };
  };
  StartEvaluation: {
    variables: { input: { clientMutationId?: string | null; environmentVersionId: string; evaluatorConfigurationId: string; seed?: string | null } };
    result: { startEvaluation: { message: string } | { id: string; trigger: "EVALUATION" | "RESET" | "IMPORT"; resetMode: "NEW_WORKSPACE" | "NEW_WORLD" | null; seed: string; attemptCount: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED"; unscoredAttempts: number | null; failureDetail: string | null; createdAt: string; startedAt: string | null; finishedAt: string | null; passAtK: ({ k: number; estimate: number | null; passHatK: number | null })[]; evaluatorConfiguration: { id: string; name: string }; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null; failureCategory: string | null })[] } };
  };
  ResetEnvironment: {
    variables: { input: { clientMutationId?: string | null; environmentVersionId: string; mode: "NEW_WORKSPACE" | "NEW_WORLD"; evaluatorConfigurationId?: string | null } };
    result: { resetEnvironment: { message: string } | { id: string; trigger: "EVALUATION" | "RESET" | "IMPORT"; resetMode: "NEW_WORKSPACE" | "NEW_WORLD" | null; seed: string; attemptCount: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED"; unscoredAttempts: number | null; failureDetail: string | null; createdAt: string; startedAt: string | null; finishedAt: string | null; passAtK: ({ k: number; estimate: number | null; passHatK: number | null })[]; evaluatorConfiguration: { id: string; name: string }; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null; failureCategory: string | null })[] } };
  };
}
