// Written by `just generate` from the documents in web/ and the schema.

export interface Operations {
  CapabilityGaps: {
    variables: { filter?: { environmentVersionId?: string | null; environmentId?: string | null; evaluatorConfigurationId?: string | null; createdAfter?: string | null; createdBefore?: string | null } | null };
    result: { capabilityGaps: { trials: number; categorized: number; gaps: ({ failureCategory: string; trials: number; latestTrial: { id: string; failureDetail: string | null } })[] }; environments: { edges: ({ node: { name: string; slug: string; versions: { edges: ({ node: { id: string; version: number } })[] } } })[] } };
  };
  Comparison: {
    variables: { ids: (string)[]; first: number };
    result: { compareTrials: { environmentVersion: { id: string; version: number; environment: { slug: string; name: string } }; stages: ({ name: string; values: (number | null)[] })[]; firstDivergence: { step: number; actions: ({ tool: string; command: string } | null)[] } | null; trials: ({ reward: number | null; durationSeconds: number | null; stepCount: number; trial: { id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; failureCategory: string | null; failureDetail: string | null; reward: number | null; seed: string; trajectory: { artifactId: string; steps: { pageInfo: { endCursor: string | null }; edges: ({ node: { step: number; tool: string; command: string; observation: string } })[] } } | null } })[] } };
  };
  Environments: {
    variables: { first: number };
    result: { environments: { totalCount: number; pageInfo: { hasNextPage: boolean }; edges: ({ node: { id: string; slug: string; name: string; latestVersion: { id: string; version: number; createdAt: string; runs: { totalCount: number; edges: ({ node: { id: string; status: "QUEUED" | "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED"; createdAt: string; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null })[] } })[] } } | null } })[] } };
  };
  VersionExports: {
    variables: { id: string };
    result: { environmentVersion: { id: string; version: number; environment: { slug: string; name: string }; exports: ({ kind: "ALL" | "SUCCESSFUL" | "FAILED" | "RECOVERY" | "PREFERENCE"; url: string; filename: string; formats: ({ name: string; url: string; filename: string })[] })[] } | null };
  };
  ExportChoices: {
    variables: Record<string, never>;
    result: { environments: { edges: ({ node: { name: string; slug: string; versions: { edges: ({ node: { id: string; version: number } })[] } } })[] }; viewer: { organization: { exports: ({ kind: "ALL" | "SUCCESSFUL" | "FAILED" | "RECOVERY" | "PREFERENCE"; url: string; filename: string; formats: ({ name: string; url: string; filename: string })[] })[] } } };
  };
  PartialRewards: {
    variables: { filter?: { environmentVersionId?: string | null; environmentId?: string | null; evaluatorConfigurationId?: string | null; createdAfter?: string | null; createdBefore?: string | null } | null };
    result: { partialRewards: ({ stage: string; trials: number; mean: number; min: number; max: number; full: number })[]; environments: { edges: ({ node: { name: string; slug: string; versions: { edges: ({ node: { id: string; version: number } })[] } } })[] } };
  };
  Settings: {
    variables: { owner: boolean };
    result: { serviceVersion: string; viewer: { organization: { id: string; name: string; slug: string; members: { edges: ({ node: { id: string; email: string; role: "OWNER" | "MEMBER" | "VIEWER" | "WORKER"; createdAt: string } })[] }; apiTokens?: { edges: ({ node: { id: string; name: string; role: "OWNER" | "MEMBER" | "VIEWER" | "WORKER"; createdAt: string; expiresAt: string; revokedAt: string | null } })[] }; exportAudits?: { edges: ({ node: { id: string; actor: string; actorRole: "OWNER" | "MEMBER" | "VIEWER" | "WORKER"; isToken: boolean; kind: "ALL" | "SUCCESSFUL" | "FAILED" | "RECOVERY" | "PREFERENCE"; format: string; filters: ({ name: string; value: string })[]; startedAt: string; endedAt: string | null; outcome: "STARTED" | "COMPLETED" | "LEFT" | "FAILED" | "REFUSED"; lines: string; bytes: string } })[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } } } };
  };
  Trial: {
    variables: { id: string; first: number };
    result: { evaluationTrial: { id: string; attempt: number; seed: string; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null; failureCategory: string | null; failureDetail: string | null; metrics: any | null; redactions: number; execution: number; startedAt: string | null; finishedAt: string | null; stages: ({ name: string; value: number })[]; executions: ({ execution: number; worker: string | null; status: "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "LOST" | "HANDED_BACK"; reward: number | null; failureCategory: string | null; failureDetail: string | null; startedAt: string; endedAt: string | null; recordedStepCount: number })[]; rollout: { id: string; superseded: boolean } | null; run: { id: string; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null })[] }; environmentVersion: { id: string; version: number; environment: { slug: string; name: string } }; trajectory: { artifactId: string; artifactUrl: string; agentTrajectoryUrl: string | null; stepCount: number; log: string; atif: { valid: boolean; version: string | null; errors: (string)[] } | null; files: ({ path: string; bytes: string; sha256: string | null; url: string | null; omitted: string | null })[]; steps: { pageInfo: { endCursor: string | null }; edges: ({ node: { step: number; tool: string; command: string; observation: string } })[] } } | null } | null };
  };
  TrialChanged: {
    variables: { id: string };
    result: { evaluationRunUpdated: { id: string; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null; execution: number })[] } };
  };
  Trials: {
    variables: { filter?: { environmentVersionId?: string | null; evaluationRunId?: string | null; status?: ("QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED")[] | null; failureCategory?: (string)[] | null; scored?: boolean | null; rewardAtLeast?: number | null; rewardBelow?: number | null; stage?: string | null; stageBelow?: number | null; createdAfter?: string | null; createdBefore?: string | null; text?: string | null } | null; orderBy?: "NEWEST" | "OLDEST" | "REWARD_HIGHEST" | "REWARD_LOWEST" | null; first: number; after?: string | null; choices: boolean };
    result: { evaluationTrials: { totalCount: number; pageInfo: { hasNextPage: boolean; endCursor: string | null }; edges: ({ node: { id: string; attempt: number; seed: string; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null; failureCategory: string | null; failureDetail: string | null; execution: number; startedAt: string | null; finishedAt: string | null; stages: ({ name: string; value: number })[]; run: { id: string }; environmentVersion: { id: string; version: number; environment: { slug: string; name: string } } } })[] }; environments?: { edges: ({ node: { name: string; slug: string; versions: { edges: ({ node: { id: string; version: number } })[] } } })[] }; capabilityGaps?: { gaps: ({ failureCategory: string; trials: number })[] }; partialRewards?: ({ stage: string })[] };
  };
  VersionById: {
    variables: { id: string; runs: number };
    result: { environmentVersion: { id: string; version: number; digest: string; manifest: any; createdAt: string; passAtK: ({ k: number; estimate: number | null; passHatK: number | null })[]; environment: { slug: string; name: string; versions: { edges: ({ node: { id: string; version: number } })[] } }; runs: { totalCount: number; pageInfo: { hasNextPage: boolean }; edges: ({ node: { id: string; trigger: "EVALUATION" | "RESET" | "IMPORT"; resetMode: "NEW_WORKSPACE" | "NEW_WORLD" | null; seed: string; attemptCount: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED"; unscoredAttempts: number | null; failureDetail: string | null; createdAt: string; startedAt: string | null; finishedAt: string | null; passAtK: ({ k: number; estimate: number | null; passHatK: number | null })[]; evaluatorConfiguration: { id: string; name: string }; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null; failureCategory: string | null })[] } })[] } } | null; evaluatorConfigurations: { edges: ({ node: { id: string; name: string; attemptCount: number } })[] } };
  };
  LatestVersion: {
    variables: { slug: string; runs: number };
    result: { environment: { name: string; slug: string; latestVersion: { id: string; version: number; digest: string; manifest: any; createdAt: string; passAtK: ({ k: number; estimate: number | null; passHatK: number | null })[]; environment: { slug: string; name: string; versions: { edges: ({ node: { id: string; version: number } })[] } }; runs: { totalCount: number; pageInfo: { hasNextPage: boolean }; edges: ({ node: { id: string; trigger: "EVALUATION" | "RESET" | "IMPORT"; resetMode: "NEW_WORKSPACE" | "NEW_WORLD" | null; seed: string; attemptCount: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED"; unscoredAttempts: number | null; failureDetail: string | null; createdAt: string; startedAt: string | null; finishedAt: string | null; passAtK: ({ k: number; estimate: number | null; passHatK: number | null })[]; evaluatorConfiguration: { id: string; name: string }; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null; failureCategory: string | null })[] } })[] } } | null } | null; evaluatorConfigurations: { edges: ({ node: { id: string; name: string; attemptCount: number } })[] } };
  };
  TrialFinished: {
    variables: { version: string };
    result: { evaluationTrialFinished: { id: string; run: { id: string } } };
  };
  MoreExportAudits: {
    variables: { after?: string | null };
    result: { viewer: { organization: { exportAudits: { edges: ({ node: { id: string; actor: string; actorRole: "OWNER" | "MEMBER" | "VIEWER" | "WORKER"; isToken: boolean; kind: "ALL" | "SUCCESSFUL" | "FAILED" | "RECOVERY" | "PREFERENCE"; format: string; filters: ({ name: string; value: string })[]; startedAt: string; endedAt: string | null; outcome: "STARTED" | "COMPLETED" | "LEFT" | "FAILED" | "REFUSED"; lines: string; bytes: string } })[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } } } };
  };
  Viewer: {
    variables: Record<string, never>;
    result: { viewer: { id: string; email: string | null; role: "OWNER" | "MEMBER" | "VIEWER" | "WORKER"; organization: { id: string; slug: string; name: string } } };
  };
  AddMember: {
    variables: { input: { clientMutationId?: string | null; email: string; role: "OWNER" | "MEMBER" | "VIEWER" | "WORKER" } };
    result: { addMember: { message: string } | { id: string; email: string; role: "OWNER" | "MEMBER" | "VIEWER" | "WORKER"; createdAt: string } };
  };
  RemoveMember: {
    variables: { input: { clientMutationId?: string | null; memberId: string } };
    result: { removeMember: { message: string } | { id: string } };
  };
  RecordedSteps: {
    variables: { id: string; first: number; after?: string | null };
    result: { evaluationTrial: { id: string; executions: ({ execution: number; recordedStepCount: number; recordedSteps: { pageInfo: { endCursor: string | null }; edges: ({ node: { step: number; tool: string; command: string; observation: string } })[] } })[] } | null };
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
  Steps: {
    variables: { id: string; first: number; after?: string | null };
    result: { evaluationTrial: { id: string; trajectory: { artifactId: string; steps: { pageInfo: { endCursor: string | null }; edges: ({ node: { step: number; tool: string; command: string; observation: string } })[] } } | null } | null };
  };
  StepCursors: {
    variables: { id: string; first: number; after?: string | null };
    result: { evaluationTrial: { id: string; trajectory: { artifactId: string; steps: { edges: ({ cursor: string })[] } } | null } | null };
  };
  CreateToken: {
    variables: { input: { clientMutationId?: string | null; name: string; role: "OWNER" | "MEMBER" | "VIEWER" | "WORKER"; days?: number } };
    result: { createApiToken: { id: string; name: string; secret: string | null } | { message: string } };
  };
  RevokeToken: {
    variables: { input: { clientMutationId?: string | null; apiTokenId: string } };
    result: { revokeApiToken: { id: string } | { message: string } };
  };
}
