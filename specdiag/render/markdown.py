"""The report as GitHub flavoured Markdown, for a comment on a pull request or a README.

The verdict and the tables that carry it come first; what only a doubter reads is folded. The few tags (`<br>`,
`<details>`) are ours: every string of the report passes through `text.markdown`, so that it shows what it says and does
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from specdiag.render.bars import UNICODE, shade, shade_key
from specdiag.render.choice import (
    BLAME_KEY,
    MARGINAL_KEY,
    MOST_CURVES,
    MOST_SLICES,
    OUTPUT_RATES,
    SHARED_RATES,
    column_key,
    curves,
    drafter_columns,
    drawn,
    known_scope,
    marginal_columns,
    pick,
    problems_first,
    slice_columns,
)
from specdiag.render.figures import count, interval
from specdiag.render.heat import heat
from specdiag.render.markdown_as import as_engines
from specdiag.render.markdown_counts import engine_counts
from specdiag.render.markdown_parts import (
    LONGEST,
    SHORT,
    cell,
    fold,
    name_of,
    position_table,
    rate_table,
    say,
    table,
    value,
)
from specdiag.render.prose import amount, few, formats, headway, ledger, read, reading, shared_rounds, votes
from specdiag.render.text import markdown
from specdiag.render.walk import explained, not_observed
from specdiag.report import Evidence, Integrity, Report


def render(report: Report) -> str:
    """The report in Markdown, a table of rates wherever there are some, absent parts left out and listed at the end."""
    parts = [
        *_headline(report),
        *_drafters(report),
        *engine_counts(report),
        *_shared(report),
        *_blame(report),
        *_marginal(report),
        *_activity(report),
        *as_engines(report),
        *_slices(report),
        *_trust(report),
        *fold("Per position, all rounds, definitions", [*_curves(report), *_output(report), *_definitions(report)]),
        f"<sub>{say(reading(report))}</sub>",
    ]
    return "\n\n".join(parts) + "\n"


def _headline(report: Report) -> Iterator[str]:
    yield f"## specdiag: {say(report.headline.verdict.replace('_', ' '), SHORT)}"
    yield f"**{say(report.headline.sentence)}**"
    files = few([name_of(item.name) for item in report.inputs])
    rules = few([name_of(trace.rule) for trace in report.traces])
    verifiers = few([name_of(trace.verifier or "—") for trace in report.traces])
    parts = [files, *formats(report), *read(report), f"{report.settings.mode} mode"]
    yield " · ".join(parts + ([f"rule {rules}", f"verifier {verifiers}"] if report.has_rounds else []))
    if report.scope.status != "in_scope" and not known_scope(report):
        reasons = "; ".join(say(reason, LONGEST) for reason in report.scope.reasons) or "no reason given"
        yield f"> **{report.scope.status.replace('_', ' ')}**: {reasons}"
    for mixed in report.mixed:
        yield f"> **mixed**: {say(mixed, LONGEST)}"


def _drafters(report: Report) -> Iterator[str]:
    if not report.drafters or not report.has_rounds:
        return
    columns = drafter_columns(report)
    rows = []
    for index, drafter in enumerate(report.drafters):
        temperature = "—" if drafter.temperature is None else f"{drafter.temperature:g}"
        tokenizer = "—" if drafter.tokenizer is None else name_of(drafter.tokenizer)
        notes = "" if drafter.declared else ", not declared"
        notes += f", abstained {count(drafter.abstained)}" if drafter.abstained else ""
        label = f"{name_of(drafter.id)}<br>tokenizer {tokenizer}<br>T {temperature}{notes}"
        rows.append([label, *(cell(column[index]) for column in columns.values())])
    yield "### Drafters"
    yield table(["drafter", *columns], rows)
    yield markdown(column_key(columns))


def _shared(report: Report) -> Iterator[str]:
    if report.shared is None:
        return
    part = report.shared
    yield "### Shared prefixes"
    yield f"{shared_rounds(part)}."
    yield rate_table(pick(part.rates, SHARED_RATES), report)
    if drawn(part.positions):
        yield position_table([("position in the chain", part.positions)])


def _blame(report: Report) -> Iterator[str]:
    if report.blame is None or not report.blame.drafters:
        return
    matrix = heat(report.blame)
    names = [*map(name_of, matrix.names), *([f"{matrix.others} others"] if matrix.others else [])]
    cells = [
        [f"{count(n)} {shade(n / matrix.total if matrix.total else 0.0, UNICODE)}".strip() for n in row]
        for row in matrix.tokens
    ]
    shares = [f"{value(rate)} {interval(rate)}".strip() for rate in matrix.shares]
    shares += [""] * (len(names) - len(shares))
    rows = [
        [name, *row, count(total), share]
        for name, row, total, share in zip(names, cells, matrix.rows, shares, strict=True)
    ]
    rows.append(["total", *map(count, matrix.columns), count(sum(matrix.rows)), ""])
    yield "### Blame"
    yield f"{count(matrix.total)} tokens dropped behind a refused one; {BLAME_KEY}."
    yield table(["refused", *names, "total", "share of all"], rows)
    yield f"Share of all dropped: {shade_key(UNICODE)}. Not attributed: {count(matrix.remainder)} tokens."


def _marginal(report: Report) -> Iterator[str]:
    if not report.marginal:
        return
    columns = marginal_columns(report)
    rows = [
        [name_of(row.drafter), *(cell(column[index]) for column in columns.values())]
        for index, row in enumerate(report.marginal)
    ]
    yield "### Without one drafter"
    yield table(["drafter", *columns], rows)
    yield markdown(MARGINAL_KEY)


def _activity(report: Report) -> Iterator[str]:
    if report.thrash is not None:
        part = report.thrash
        yield "### Thrash"
        yield headway(part)
        yield rate_table(part.rates, report)
    if report.consensus is not None:
        steps = report.consensus
        effects = "".join(f", {name_of(name)} {count(n)}" for name, n in steps.effects.items())
        yield "### Consensus"
        yield f"{votes(steps)}{effects}."
        yield rate_table({steps.fallback_rate.name: steps.fallback_rate}, report)
    if report.time is not None:
        best = "" if report.time.best_single is None else f"; best alone: {name_of(report.time.best_single)}"
        yield "### Time"
        yield f"Basis: {say(report.time.basis, LONGEST)}{best}."
        yield rate_table(report.time.rates, report)


def _slices(report: Report) -> Iterator[str]:
    if not report.slices:
        return
    columns = slice_columns(report)
    rows = [
        [say(", ".join(row.by.values()), SHORT), *(cell(column[index]) for column in columns.values())]
        for index, row in enumerate(report.slices[:MOST_SLICES])
    ]
    more = len(report.slices) - MOST_SLICES
    yield f"### By {', '.join(map(name_of, report.settings.by))}" + (f" (+{more} more rows)" if more > 0 else "")
    yield table(["", *map(name_of, columns)], rows)


def _trust(report: Report) -> Iterator[str]:
    """Evidence, identities, integrity and what was not observed."""
    yield "### Evidence"
    evidence = [_evidence(kind) for kind in report.evidence if kind.have or report.has_rounds]
    identities = _identities(report) if report.has_rounds else ()
    yield "\n".join([*evidence, *identities, *map(_integrity, problems_first(report))])
    missing = [f"- {name_of(item.what, LONGEST)}: {say(item.reason, LONGEST)}" for item in not_observed(report)]
    if missing:
        yield "### Not observed"
        yield "\n".join(["Absent, not zero: shown as — or left out.", "", *missing])


def _evidence(kind: Evidence) -> str:
    return f"- {say(kind.name, SHORT)}: {amount(kind)} {say(kind.unit, SHORT)}; {say(kind.tells, LONGEST)}"


def _identities(report: Report) -> Iterator[str]:
    broken = [each for each in report.identities if not each.holds]
    yield f"- identities hold: {len(report.identities) - len(broken)} of {len(report.identities)}"
    for each in broken:
        yield f"- **broken**: {say(each.name, LONGEST)}: {count(each.left)} is not {count(each.right)}"


def _integrity(note: Integrity) -> str:
    first = note.places[0] if note.places else None
    said = f" ({say(first.text, 2 * LONGEST)})" if first and first.text else ""
    place = f"; first at {name_of(first.file)} line {first.line}{said}" if first else ""
    advice = f". {say(note.advice, LONGEST)}" if note.advice else ""
    head = f"- **{note.severity}** {name_of(note.code)} ×{count(note.count)}: {say(note.message, LONGEST)}"
    return head + place + advice


def _curves(report: Report) -> Iterator[str]:
    shown = curves(report)
    rows = [
        (f"{name_of(drafter.id)}, {title}", view.positions)
        for drafter, views in shown[:MOST_CURVES]
        for title, view in views
    ]
    if rows:
        yield position_table(rows)
    if len(shown) > MOST_CURVES:
        yield f"+{len(shown) - MOST_CURVES} more drafters"


def _output(report: Report) -> Iterator[str]:
    rates = pick(report.rates, OUTPUT_RATES)
    if not report.has_rounds:
        return
    if rates:
        yield rate_table(rates, report)
    yield ledger(report.fates)


def _definitions(report: Report) -> Iterator[str]:
    terms = explained(report)
    if terms:
        yield "\n".join(f"- {name_of(name)}: {say(text, LONGEST)}" for name, text in terms)
