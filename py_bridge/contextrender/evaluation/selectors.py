"""Sets of selectors by name, for the command line."""

from contextrender.baselines.registry import check_selector, selector_names
from contextrender.errors import InputError, UnavailableError
from contextrender.policy import POLICIES

PAPER_TABLE = ("full", "prune", "compact", "recency+summary", "semantic", "acon", "paper")
"""The rows of the paper's Tables 6–8."""
ABLATION = ("rec", "rel", "rec+rel", "paper")
"""The rows of Table 2."""
SETS = ("all", "paper-table", "ablation", "policies", "peers")


def _members(name: str) -> tuple[str, ...]:
    known = tuple(selector_names())
    match name:
        case "all":
            return known
        case "paper-table":
            return tuple(one for one in PAPER_TABLE if one in known)
        case "ablation":
            return ABLATION
        case "policies":
            return tuple(POLICIES)
        case _:
            return tuple(one for one in known if one not in POLICIES)


def expand(text: str) -> tuple[tuple[str, ...], list[str]]:
    """The selectors of a list with commas, sets expanded; and why members of a set are left out.

    Raises InputError for an unknown name, UnavailableError where one that was named itself needs what is missing.
    """
    chosen: dict[str, None] = {}
    left_out: list[str] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        if name not in SETS:
            check_selector(name)
            chosen[name] = None
            continue
        for member in _members(name):
            try:
                check_selector(member)
            except UnavailableError as error:
                left_out.append(f"{member}: {error}")
            else:
                chosen[member] = None
    if not chosen:
        raise InputError("no selector is named", "--selectors", ", ".join((*SETS, *selector_names())))
    return tuple(chosen), left_out
