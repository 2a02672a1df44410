"""pass@k and pass^k."""

from typing import Self

import strawberry

from resolvers import pass_at_k


@strawberry.type
class PassAtK:
    k: int
    estimate: float | None = strawberry.field(description="1 - C(n-c,k)/C(n,k), Chen et al. 2021.")
    pass_hat_k: float | None = strawberry.field(description="C(c,k)/C(n,k), tau-bench.")

    @classmethod
    def of(cls, estimate: pass_at_k.PassAtK) -> Self:
        return cls(k=estimate.k, estimate=estimate.estimate, pass_hat_k=estimate.pass_hat_k)
