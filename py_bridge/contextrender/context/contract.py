"""The stable start: what the model is told of how its history is shown, and what holds for the whole task."""

from collections.abc import Sequence

from contextrender.context.facts import Fact

CONTRACT = """How this conversation is shown to you:
- Earlier steps may be left out. Nothing is lost, and what is needed is shown again.
- "[An earlier result of ...]" repeats such a result complete.
- "[Update on the task]" tells what has changed; a later line about the same thing replaces an earlier one.
- "[Where the task stands]" sums up what is left out. None of these messages is from the user."""
RECALL = '- "ref" and a name stand for a complete result that is not shown; it can be recalled by that name.'
DURABLE_HEADING = "What holds for the whole task:"


def start_text(durable: Sequence[Fact], recall: bool) -> str:
    """The contract and the durable facts. Constant lines and the facts' own: no ids, times or counters."""
    lines = [CONTRACT]
    if recall:
        lines.append(RECALL)
    if durable:
        lines += [DURABLE_HEADING, *(fact.line for fact in durable)]
    return "\n".join(lines)
