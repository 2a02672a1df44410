"""The entry points of changing."""

from typing import Annotated

import strawberry
from strawberry.scalars import JSON

from db.runs import ResetMode
from resolvers import configurations, environments, runs, versions
from schema.configuration import EvaluatorConfiguration
from schema.environment import Environment
from schema.info import Info
from schema.problems import Conflict, Forbidden, InvalidInput, NotFound, answer
from schema.run import EvaluationRun
from schema.scalars import BigInt
from schema.version import EnvironmentVersion
from schema.viewer import MemberRole

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
class CreateEnvironmentInput:
    slug: str
    name: str


@strawberry.input
class PublishEnvironmentVersionInput:
    environment_id: strawberry.ID
    manifest: JSON
    bundle_sha256: str | None = strawberry.field(
        default=None, description="Of an archive uploaded before with PUT /api/v1/bundles/{sha256}."
    )


@strawberry.input
class CreateEvaluatorConfigurationInput:
    name: str
    attempt_count: int
    agent_command: list[str]


@strawberry.input
class StartEvaluationInput:
    environment_version_id: strawberry.ID
    evaluator_configuration_id: strawberry.ID
    seed: BigInt | None = strawberry.field(default=None, description="The world's seed; 0 without one.")


@strawberry.input(description="Without a configuration, the one of the version's newest run.")
class ResetEnvironmentInput:
    environment_version_id: strawberry.ID
    mode: ResetMode
    evaluator_configuration_id: strawberry.ID | None = None


@strawberry.input
class CancelEvaluationRunInput:
    evaluation_run_id: strawberry.ID


EDITORS = (MemberRole.OWNER, MemberRole.MEMBER)


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def create_environment(self, info: Info, input: CreateEnvironmentInput) -> EnvironmentResult:
        result = await answer(info, EDITORS, Environment.of, environments.create, input.slug, input.name)
        assert not isinstance(result, NotFound)
        return result

    @strawberry.mutation
    async def publish_environment_version(
        self, info: Info, input: PublishEnvironmentVersionInput
    ) -> EnvironmentVersionResult:
        of, publish = EnvironmentVersion.of, versions.publish
        return await answer(info, EDITORS, of, publish, input.environment_id, input.manifest, input.bundle_sha256)

    @strawberry.mutation
    async def create_evaluator_configuration(
        self, info: Info, input: CreateEvaluatorConfigurationInput
    ) -> EvaluatorConfigurationResult:
        of, create = EvaluatorConfiguration.of, configurations.create
        result = await answer(info, EDITORS, of, create, input.name, input.attempt_count, input.agent_command)
        assert not isinstance(result, NotFound)
        return result

    @strawberry.mutation
    async def start_evaluation(self, info: Info, input: StartEvaluationInput) -> EvaluationRunResult:
        version_id, configuration_id = input.environment_version_id, input.evaluator_configuration_id
        return await answer(info, EDITORS, EvaluationRun.of, runs.start, version_id, configuration_id, input.seed)

    @strawberry.mutation(
        description="Enqueues a new job against the same environment version; earlier runs stay as they are."
    )
    async def reset_environment(self, info: Info, input: ResetEnvironmentInput) -> EvaluationRunResult:
        version_id, configuration_id = input.environment_version_id, input.evaluator_configuration_id
        return await answer(info, EDITORS, EvaluationRun.of, runs.reset, version_id, input.mode, configuration_id)

    @strawberry.mutation
    async def cancel_evaluation_run(self, info: Info, input: CancelEvaluationRunInput) -> EvaluationRunResult:
        return await answer(info, EDITORS, EvaluationRun.of, runs.cancel, input.evaluation_run_id)
