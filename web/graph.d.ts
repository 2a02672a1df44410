// Written by `just generate` from the documents in web/ and the schema.

export interface Operations {
  Environments: {
    variables: { first: number };
    result: { environments: { totalCount: number; pageInfo: { hasNextPage: boolean }; edges: ({ node: { id: string; slug: string; name: string; latestVersion: { id: string; version: number; createdAt: string; runs: { totalCount: number; edges: ({ node: { id: string; status: "QUEUED" | "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED"; createdAt: string; trials: ({ id: string; attempt: number; status: "QUEUED" | "RUNNING" | "COMPLETED" | "ERRORED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED"; reward: number | null })[] } })[] } } | null } })[] } };
  };
  Viewer: {
    variables: Record<string, never>;
    result: { viewer: { id: string; email: string | null; role: "OWNER" | "MEMBER" | "VIEWER" | "WORKER"; organization: { id: string; slug: string; name: string } } };
  };
}
