"""Documents that ask for every field of the graph between them."""

TRIAL = """
id attempt seed status reward failureCategory failureDetail stages { name value } metrics redactions execution
executions {
  execution worker status reward failureCategory failureDetail stages { name value } metrics startedAt endedAt
  trajectory { artifactId } recordedStepCount recordedSteps(first: 2) { totalCount edges { node { step observation } } }
}
startedAt finishedAt run { id } environmentVersion { id } rollout { id }
trajectory {
  artifactId artifactUrl agentTrajectoryUrl log stepCount
  atif { valid version errors url document } files { path bytes sha256 url omitted }
  steps(first: 2) {
    totalCount
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    edges { cursor node { step tool command observation } }
  }
}
"""
TRIALS = f"query {{ evaluationTrials(orderBy: OLDEST, first: 500) {{ totalCount edges {{ node {{ {TRIAL} }} }} }} }}"
RUNS = """query { evaluationRuns(orderBy: OLDEST) { totalCount edges { node {
  id trigger resetMode seed attemptCount status unscoredAttempts failureDetail createdAt startedAt finishedAt
  passAtK { k estimate passHatK } environmentVersion { id } evaluatorConfiguration { id } trials { id }
} } } }"""
ROLLOUTS = """query { rollouts { totalCount edges { node {
  id seed reward stages { name value } superseded createdAt trial { id } environmentVersion { id } evaluationRun { id }
} } } }"""
ENVIRONMENTS = """query {
  environments(first: 10) { totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  edges { cursor node {
    id slug name createdAt latestVersion { id }
    versions(first: 10) { totalCount edges { node {
      id version digest manifest bundleSha256 createdAt environment { id }
      runs { totalCount edges { node { id } } }
      trials { totalCount edges { node { id } } }
    } } }
  } } }
}"""
REPORTS = """query($id: ID!) {
  environmentVersion(id: $id) {
    passAtK { k estimate passHatK }
    capabilityGaps { trials categorized gaps { failureCategory trials latestTrial { id } } }
    partialRewards { stage trials mean min max full }
    preference { preferredReward rejectedReward preferred { id } rejected { id } }
    exports { kind url filename formats { name url filename } }
  }
  capabilityGaps(filter: { environmentVersionId: $id }) { trials categorized gaps { failureCategory } }
  partialRewards(filter: { environmentVersionId: $id }) { stage trials mean min max full }
  viewer { organization { exports { kind url filename formats { name url filename } } } }
}"""
CONFIGURATIONS = """query {
  evaluatorConfigurations { totalCount edges { node { id name attemptCount agentCommand secrets createdAt } } }
  environment(slug: "mail") { id }
  viewer { id email role organization { id slug name } }
  serviceVersion
}"""
BY_ID = """query($run: ID!, $trial: ID!, $rollout: ID!, $node: ID!) {
  evaluationRun(id: $run) { id } evaluationTrial(id: $trial) { id } rollout(id: $rollout) { id }
  node(id: $node) { __typename id ... on Organization { slug } }
}"""
COMPARISON = """query($ids: [ID!]!) { compareTrials(ids: $ids) {
  environmentVersion { id }
  trials { trial { id } reward durationSeconds stepCount }
  stages { name values }
  firstDivergence { step actions { tool command } }
} }"""

ADMINISTRATION = """{ viewer { organization {
  members { totalCount edges { node { id email role createdAt } } }
  apiTokens { totalCount edges { node { id name role createdAt expiresAt revokedAt secret } } }
  secrets { totalCount edges { node { id name createdAt updatedAt updatedBy } } }
  exportAudits { totalCount edges { node {
    id actorId actor actorRole isToken kind format filters { name value } startedAt endedAt outcome lines bytes
  } } }
} } }"""

ALL = (TRIALS, RUNS, ROLLOUTS, ENVIRONMENTS, REPORTS, CONFIGURATIONS, BY_ID, COMPARISON, ADMINISTRATION)
