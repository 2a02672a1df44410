"""pass@k and pass^k of one run, from how many of its attempts passed."""

import json
from dataclasses import dataclass
from math import comb

from db.query import Json


@dataclass(frozen=True, slots=True)
class PassAtK:
    """For a k between 1 and the number of attempts; None where there is nothing to estimate from."""

    k: int
    estimate: float | None
    pass_hat_k: float | None


def pass_at_k(attempts: int, passed: int) -> list[PassAtK]:
    """Estimates for every k from 1 to `attempts`.

    pass@k = 1 - C(n-c,k)/C(n,k), the unbiased estimator of Chen et al. 2021 (arXiv 2107.03374);
    pass^k = C(c,k)/C(n,k), that all of k attempts pass (tau-bench, arXiv 2406.12045).
    Raises ValueError unless 0 <= passed <= attempts.
    """
    if not 0 <= passed <= attempts:
        raise ValueError(f"{passed} of {attempts} attempts cannot have passed")
    return [
        PassAtK(
            k,
            1 - comb(attempts - passed, k) / comb(attempts, k),
            comb(passed, k) / comb(attempts, k),
        )
        for k in range(1, attempts + 1)
    ]


def no_estimate(attempts: int) -> list[PassAtK]:
    """For a run that was stopped: its missing attempts are no evidence either way."""
    return [PassAtK(k, None, None) for k in range(1, attempts + 1)]


def encode(estimates: list[PassAtK]) -> Json:
    """The API's shape, as the database keeps it."""
    shown = [{"k": one.k, "estimate": one.estimate, "passHatK": one.pass_hat_k} for one in estimates]
    return Json(json.dumps(shown, separators=(",", ":")))


def decode(text: Json) -> list[PassAtK]:
    return [PassAtK(one["k"], one["estimate"], one["passHatK"]) for one in json.loads(text)]
