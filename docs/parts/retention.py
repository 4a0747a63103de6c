"""What may be purged and what is kept, printed: for log.md and hub.md."""

from __future__ import annotations

from docs.parts.markdown import table
from tidings.hub.policy import DAY_MS, OFF, Policy
from tidings.log.folded import TABLE, Folded


def folded() -> str:
    """The topics that are state, and where they may be cut."""
    rows = [(f"`{each.pattern}`", _behind(each), "yes" if each.forgettable else "no") for each in TABLE]
    return table(("topic", "is cut before", "may go as a whole"), rows)


def retention() -> str:
    """The fields of `[retention]`."""
    default = Policy()
    rows = (
        (
            "`max_age`",
            "how old a record may be",
            f'`"{(default.max_age or 0) // DAY_MS}d"`',
            "s, m, h, d, w",
        ),
        (
            "`max_size`",
            "how big the log may be",
            f'`"{(default.max_size or 0) >> 30}GiB"`',
            "B, KB, MB, GB, TB, KiB, MiB, GiB, TiB",
        ),
        (
            "`max_session_records`",
            "how many records of one session's telling are kept",
            f"`{default.max_session_records}`",
            "a whole number",
        ),
    )
    return table(("key", f'what it bounds; `"{OFF}"`: no bound', "default", "units"), rows)


def _behind(each: Folded) -> str:
    if each.snapshot is None:
        return "nothing"
    where = f" on `{each.where}`" if each.where else ""
    within = f" with `{each.within}`" if each.within else ""
    return f"`{each.snapshot}`{within}{where}"
