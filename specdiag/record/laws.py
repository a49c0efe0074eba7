"""Laws of the next token: from log-weights to probabilities, what a refusal leaves over, and drawing with one uniform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specdiag.record.protocols import Rows

Law = NDArray[np.float64]
"""Probabilities of every token of a vocabulary; they sum to 1."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """A sampling regime, applied in this order. Temperature 0: the likeliest token alone; top_k 0 and top_p 1: no truncation."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0


def laws(logits: NDArray[np.float32], sampling: Sampling) -> Rows:
    """The law behind each row of log-weights."""
    rows = logits.astype(np.float64)
    if sampling.temperature == 0:
        return points(rows.argmax(axis=1), rows.shape[1])
    rows = (rows - rows.max(axis=1, keepdims=True)) / sampling.temperature
    weights = np.exp(rows)
    if 0 < sampling.top_k < rows.shape[1]:
        least = np.partition(weights, -sampling.top_k, axis=1)[:, -sampling.top_k, None]
        weights = np.where(weights >= least, weights, 0)  # ties at the edge stay
    weights /= weights.sum(axis=1, keepdims=True)
    if sampling.top_p < 1:
        weights = np.array([_nucleus(row, sampling.top_p) for row in weights])
    law: Rows = weights
    return law


def _nucleus(law: Law, top_p: float) -> Law:
    """The fewest likeliest tokens that hold at least `top_p`, renormalised."""
    order = np.argsort(-law, kind="stable")
    keep = order[: int(np.searchsorted(np.cumsum(law[order]), top_p)) + 1]
    cut = np.zeros_like(law)
    cut[keep] = law[keep]
    cut /= cut.sum()
    return cut


def points(tokens: NDArray[np.intp], size: int) -> Rows:
    """Laws that know their token."""
    rows = np.zeros((len(tokens), size))
    rows[np.arange(len(tokens)), tokens] = 1
    return rows


def draw(law: Law, uniform: float) -> int:
    """The token that a uniform in [0, 1) falls on; never one of probability 0."""
    ends = np.cumsum(law)
    index = int(np.searchsorted(ends, uniform * ends[-1], side="right"))
    return index if index < len(law) else int(np.flatnonzero(law)[-1])


def residual(p: Law, q: Law) -> Law:
    """The law of a correction: norm((p - q)+) (Leviathan et al. 2023, section 2.3). p itself where nothing is left but rounding."""
    left = np.maximum(p - q, 0)
    total = left.sum()
    return left / total if total > 0 else p
