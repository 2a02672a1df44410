"""The kinds of exports, under their name in the graph."""

import strawberry

from resolvers.rollouts import ExportKind

__all__ = ["ExportKind"]

strawberry.enum(ExportKind, name="RolloutExportKind")
