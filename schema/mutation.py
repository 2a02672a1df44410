"""The entry points of changing."""

from typing import Annotated

import strawberry
from strawberry.scalars import JSON

from db.runs import ResetMode
from resolvers import additions, configurations, environments, runs, versions
from resolvers.loaders import CONFIGURATION, ENVIRONMENT, RUN, VERSION
from schema.administration import Administration
from schema.change import EDITORS, Repeatable, change
from schema.configuration import EvaluatorConfiguration
from schema.environment import Environment
from schema.info import Info
from schema.problems import Conflict, Forbidden, InvalidInput, NotFound
from schema.run import EvaluationRun
from schema.scalars import BigInt
from schema.version import EnvironmentVersion

EnvironmentResult = Annotated[Environment | InvalidInput | Conflict | Forbidden, strawberry.union("EnvironmentResult")]
EnvironmentVersionResult = Annotated[
    EnvironmentVersion | InvalidInput | NotFound | Conflict | Forbidden,
    strawberry.union("EnvironmentVersionResult"),
]
EvaluatorConfigurationResult = Annotated[
    EvaluatorConfiguration | InvalidInput | Conflict | Forbidden,
    strawberry.union("EvaluatorConfigurationResult"),
]
EvaluationRunResult = Annotated[
    EvaluationRun | InvalidInput | NotFound | Conflict | Forbidden, strawberry.union("EvaluationRunResult")
]


@strawberry.input
class CreateEnvironmentInput(Repeatable):
    slug: str
    name: str


@strawberry.input
class PublishEnvironmentVersionInput(Repeatable):
    environment_id: strawberry.ID
    manifest: JSON
    bundle_sha256: str | None = strawberry.field(
        default=None, description="Of an archive uploaded before with PUT /api/v1/bundles/{sha256}."
    )


@strawberry.input
class CreateEvaluatorConfigurationInput(Repeatable):
    name: str
    attempt_count: int
    agent_command: list[str]
    secrets: list[str] | None = strawberry.field(
        default=None, description="Names of secrets that the agent gets as variables."
    )


@strawberry.input
class StartEvaluationInput(Repeatable):
    environment_version_id: strawberry.ID
    evaluator_configuration_id: strawberry.ID
    seed: BigInt | None = strawberry.field(default=None, description="The world's seed; 0 without one.")


@strawberry.input(description="Without a configuration, the one of the version's newest run.")
class ResetEnvironmentInput(Repeatable):
    environment_version_id: strawberry.ID
    mode: ResetMode
    evaluator_configuration_id: strawberry.ID | None = None


@strawberry.input
class CancelEvaluationRunInput(Repeatable):
    evaluation_run_id: strawberry.ID


@strawberry.input
class AddAttemptsInput(Repeatable):
    evaluation_run_id: strawberry.ID
    count: int = strawberry.field(description="How many more; a run has at most 8 attempts in all.")


@strawberry.input
class RerunUnscoredInput(Repeatable):
    evaluation_run_id: strawberry.ID


@strawberry.type
class Mutation(Administration):
    @change(EDITORS, ENVIRONMENT)
    async def create_environment(self, info: Info, input: CreateEnvironmentInput) -> EnvironmentResult:
        return Environment.of(await environments.create(info.context.tenant, input.slug, input.name))

    @change(EDITORS, VERSION)
    async def publish_environment_version(
        self, info: Info, input: PublishEnvironmentVersionInput
    ) -> EnvironmentVersionResult:
        tenant, manifest, bundle_sha256 = info.context.tenant, input.manifest, input.bundle_sha256
        return EnvironmentVersion.of(await versions.publish(tenant, input.environment_id, manifest, bundle_sha256))

    @change(EDITORS, CONFIGURATION)
    async def create_evaluator_configuration(
        self, info: Info, input: CreateEvaluatorConfigurationInput
    ) -> EvaluatorConfigurationResult:
        tenant, name, secrets = info.context.tenant, input.name, input.secrets or []
        row = await configurations.create(tenant, name, input.attempt_count, input.agent_command, secrets)
        return EvaluatorConfiguration.of(row)

    @change(EDITORS, RUN)
    async def start_evaluation(self, info: Info, input: StartEvaluationInput) -> EvaluationRunResult:
        version_id, configuration_id = input.environment_version_id, input.evaluator_configuration_id
        return EvaluationRun.of(await runs.start(info.context.tenant, version_id, configuration_id, input.seed))

    @change(
        EDITORS,
        RUN,
        description="Enqueues a new job against the same environment version; earlier runs stay as they are.",
    )
    async def reset_environment(self, info: Info, input: ResetEnvironmentInput) -> EvaluationRunResult:
        version_id, configuration_id = input.environment_version_id, input.evaluator_configuration_id
        return EvaluationRun.of(await runs.reset(info.context.tenant, version_id, input.mode, configuration_id))

    @change(EDITORS, RUN)
    async def cancel_evaluation_run(self, info: Info, input: CancelEvaluationRunInput) -> EvaluationRunResult:
        return EvaluationRun.of(await runs.cancel(info.context.tenant, input.evaluation_run_id))

    @change(
        EDITORS,
        RUN,
        description="Queues further attempts of a run that is queued, running or completed; those there are stay. "
        "A completed run is open again, and has its pass@k over all attempts when it ends.",
    )
    async def add_attempts(self, info: Info, input: AddAttemptsInput) -> EvaluationRunResult:
        tenant, run_id = info.context.tenant, input.evaluation_run_id
        return EvaluationRun.of(await additions.add_attempts(tenant, run_id, input.count))

    @change(
        EDITORS,
        RUN,
        description="Queues each attempt of an ended run that has no score again, as a further execution; what it came "
        "to before stays in its executions, and its rollout is superseded.",
    )
    async def rerun_unscored(self, info: Info, input: RerunUnscoredInput) -> EvaluationRunResult:
        return EvaluationRun.of(await additions.rerun_unscored(info.context.tenant, input.evaluation_run_id))
