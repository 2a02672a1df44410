"""pass@k and pass^k."""

import strawberry


@strawberry.type
class PassAtK:
    k: int
    estimate: float | None = strawberry.field(description="1 - C(n-c,k)/C(n,k), Chen et al. 2021.")
    pass_hat_k: float | None = strawberry.field(description="C(c,k)/C(n,k), tau-bench.")
