"""The tasks of the world: what the user asks for, the program that does it, and when it is done."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contextrender.world import goals
from contextrender.world.agent import Act
from contextrender.world.build import build_world, people
from contextrender.world.programs import dinner, money, office, planning
from contextrender.world.state import State
from contextrender.world.view import ChatMessage

DEFAULT_SEED = 7
SYSTEM = (
    "You are an assistant with access to the user's apps: contacts, wallet, bills, files, calendar, phone, calculator, "
    "and the documentation of their APIs. Work step by step, one or a few tool calls at a time. Copy ids, addresses, "
    "references and codes exactly from what the tools returned; never guess them. Act only as the user asked. When "
    "everything is done, answer without a tool call."
)


@dataclass(frozen=True)
class Task:
    """One task in the world of one seed."""

    task_id: str
    seed: int
    instruction: str
    check: Callable[[State, State], list[str]]
    program: Callable[[], Sequence[Act]]

    def new_state(self) -> State:
        """The world as it is before anything is done."""
        return build_world(self.seed)

    def goal_reached(self, state: State) -> list[str]:
        """The conditions that the state does not meet; empty when the goal is reached."""
        return self.check(self.new_state(), state)

    def first_messages(self) -> list[ChatMessage]:
        """The system prompt and the user's instruction."""
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": self.instruction}]


def all_tasks(seed: int = DEFAULT_SEED) -> list[Task]:
    """Every task in the world of this seed; the roommates' dinner comes first."""
    world = build_world(seed)
    friends, coworkers = people(world, "friend"), people(world, "coworker")
    return [
        Task(
            "roommates",
            seed,
            "Settle the dinner we roommates had on 12 March: see my notes on it and the bill. Ask those who paid "
            "nothing for their share, pay back the one who paid too much, put the deadline (20 March, 18:00) into the "
            "calendar for those who owe, text the one who is paid back, and write it all into "
            "/reports/dinner_settlement.txt with the ids of requests and payment.",
            goals.dinner,
            dinner.roommates,
        ),
        Task(
            "utilities",
            seed,
            "Pay all my utility bills that are due before 31 March 2026, each by its payment reference. If the wallet "
            "runs out, top it up from the bank. Then write /reports/bills_march.txt: a line a bill with bill id, "
            "reference and transaction id.",
            goals.utilities,
            money.utilities,
        ),
        Task(
            "refund",
            seed,
            f"I think I paid {friends[4].name} twice for the concert ticket in February. If so, ask for the second "
            "payment back and quote its transaction id in the note. Add a line with the request's id and the "
            "transaction's id to /notes/disputes.md; keep what is there.",
            goals.refund,
            money.refund,
        ),
        Task(
            "trip",
            seed,
            "Settle the cabin trip by the files in /trip: everybody with me, as the readme says, and write "
            "/trip/settlement.txt with the trip code and, for each person, the balance and the id of the request or "
            "payment.",
            goals.trip,
            money.trip,
        ),
        Task(
            "receipts",
            seed,
            "Compare the receipts in /receipts with my wallet transactions since 1 March 2026. Write "
            "/reports/receipts_march.txt: a line a receipt with its number and 'no transaction', or the transaction's "
            "id and 'ok' or 'differs by' and the amount; and the sum of all receipts in the last line.",
            goals.receipts,
            office.receipts,
        ),
        Task(
            "schedule",
            seed,
            f"Plan a dinner with {friends[0].name} and {coworkers[4].name} in the week of 16 March, 19:00 to 21:00, on "
            "the first evening that suits all three of us (see /notes/availability.md and my calendar), at the place "
            "we decided on. Invite both, text both, cancel my dentist check-up, and write /notes/dinner_plan.md with "
            "the event's id and their phone numbers.",
            goals.schedule,
            planning.schedule,
        ),
        Task(
            "gift",
            seed,
            f"Organise the birthday gift for {coworkers[0].name} by /notes/gift_pledges.md and /notes/gift_order.md: "
            "ask or remind those who pledged, pay the shop, put the birthday into the calendar for those who pledged, "
            "and write /reports/gift.txt with order number, transaction id and all request ids.",
            goals.gift,
            planning.gift,
        ),
        Task(
            "subscriptions",
            seed,
            "End the subscriptions that /notes/subscriptions.md does not keep, and write /reports/subscriptions.txt: a "
            "line for each that ended with bill id and reference, and what that saves a year in the last line.",
            goals.subscriptions,
            office.subscriptions,
        ),
    ]


def get_task(task_id: str, seed: int = DEFAULT_SEED) -> Task:
    """The task of this name. Raises KeyError for a name that is none."""
    return {task.task_id: task for task in all_tasks(seed)}[task_id]
