"""The part of the Markdown report that `--as` asks for: the same rounds under the definitions of several engines."""

from __future__ import annotations

from collections.abc import Iterator

from specdiag.render.as_engines import (
    FAMILIES,
    absent,
    assumptions,
    bodies,
    countings,
    reasons,
    rows,
    spread,
    sums,
    written,
)
from specdiag.render.figures import percent, ratio
from specdiag.render.markdown_parts import SHORT, name_of, say, table
from specdiag.render.text import markdown
from specdiag.report import Report


def as_engines(report: Report) -> Iterator[str]:
    """The same rounds under the definitions of several engines, and why their figures differ."""
    for of, views in bodies(report):
        yield f"### As engines print it: {say(of)}"
        for family, title in FAMILIES.items():
            found = rows(views, family)
            if not found:
                continue
            yield table(
                [title, "value", f"{percent(report.settings.level)} interval", "of", "formula"],
                [
                    [
                        f"{name_of(row.engine)} {say(row.name, SHORT)}{f' {item.position}' if item.position else ''}",
                        f"**{markdown(written(item))}**",
                        markdown(spread(item)),
                        ratio(item.rate),
                        f"`{item.formula}`",
                    ]
                    for row in found
                    for item in row.figures
                ],
            )
            why = [f"- {trait}: {meaning}. In: {say('; '.join(who))}." for trait, meaning, who in reasons(found)]
            why += [f"- {say(name)}: {say(reason)}" for name, reason in absent(found)]
            yield from ["\n".join(why)] if why else []
        said = [f"- {say(sentence)}: {', '.join(map(name_of, who))}" for sentence, who in countings(views)]
        said += [f"- {name_of(view.engine)}: {sums(view)}" for view in views if view.counts]
        yield from ["\n".join(said)] if said else []
        yield from (f"Assumed: {say(text)}." for text in assumptions(views))
