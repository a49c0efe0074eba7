"""Every policy meets the same requests."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from specdiag.simulate.traffic import AT_ONCE, parts, quotas
from tests.simulate.pools import STUDY


@given(st.integers(1, 10_000))
def test_quotas_add_up_and_follow_the_shares(requests: int) -> None:
    """Whole requests, one off at most."""
    found = quotas(STUDY, requests)
    assert sum(found) == requests
    assert all(abs(n - requests * d.share) < 1 for n, d in zip(found, STUDY.drafters, strict=True))


def test_the_traffic_depends_on_the_seed_alone() -> None:
    """Names and effects are the same for whatever decides the verdicts, and for more requests."""
    some = list(parts(STUDY, 1, AT_ONCE + 10, 7))
    more = list(parts(STUDY, 1, 3 * AT_ONCE, 7, stream=9))
    assert some[0].names == more[0].names
    assert np.array_equal(some[1].effect, more[1].effect[:10])
    assert not np.array_equal(some[0].effect, next(iter(parts(STUDY, 1, AT_ONCE, 8))).effect)
    assert len({name for part in more for name in part.names}) == 3 * AT_ONCE
