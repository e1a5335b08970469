"""Eight questions at once over a made-up encyclopaedia: our stand-in for the paper's 8-objective QA (§4.1).

The agent searches, and at last answers all eight in one line. The score is token-level F1, averaged over the eight.
"""

import json
import random
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from contextrender.benchmarks.corpus import Bridge, Company, Corpus, build_corpus
from contextrender.benchmarks.task import Environment, Message
from contextrender.world.agent import Act, Turn
from contextrender.world.view import Call, Missing, View

OBJECTIVES = 8
TASKS = 10
SEED = 42
SYSTEM = (
    "You answer several questions with the help of a search tool over an encyclopaedia. Search as often as you need, "
    "one question at a time. When you know all answers, reply without a tool call, in one line: "
    "<answer>first; second; …</answer>, in the order of the questions, each as short as possible."
)
SEARCH: Message = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Search the encyclopaedia; returns the passages that fit the query best.",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "A few words, best with a name."}},
            "required": ["query"],
            "additionalProperties": False,
        },
    },
}
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


@dataclass(frozen=True)
class Hop:
    """Read the passage titled by what is known so far, and find the next thing in it."""

    pattern: str


@dataclass(frozen=True)
class Question:
    """A question, its answer, and how a scripted agent finds it: from a title, hop by hop."""

    text: str
    answer: str
    start: str
    hops: tuple[Hop, ...]


_TOWN = Hop(r"in the town of (\w+)\.")


def _river(bridge: Bridge, _: Company) -> Question:
    text = f"Which river flows through the town where the {bridge.name} stands?"
    return Question(text, bridge.town.river, bridge.name, (_TOWN, Hop(r"The river (\w+) flows")))


def _born(bridge: Bridge, _: Company) -> Question:
    text = f"In which year was the designer of the {bridge.name} born?"
    return Question(text, str(bridge.born), bridge.name, (Hop(r"designed by ([\w ]+)\."), Hop(r"birth is (\d+)")))


def _mayor(_: Bridge, company: Company) -> Question:
    text = f"Who is the mayor of the town in which {company.name} has its headquarters?"
    return Question(text, company.town.mayor, company.name, (_TOWN, Hop(r"mayor is ([\w ]+)\.")))


def _maker(_: Bridge, company: Company) -> Question:
    text = f"Who founded {company.name}?"
    return Question(text, company.founder, company.name, (Hop(r"founded by ([\w ]+)\."),))


_KINDS: tuple[Callable[[Bridge, Company], Question], ...] = (_river, _born, _mayor, _maker)


def questions_of(number: int, seed: int = SEED) -> tuple[Question, ...]:
    """The eight questions of a task: two of each kind, about different things, in a drawn order."""
    corpus = build_corpus(seed)
    chance = random.Random(seed * 1_000 + number)
    bridges, companies = chance.sample(corpus.bridges, OBJECTIVES), chance.sample(corpus.companies, OBJECTIVES)
    made = [_KINDS[i % len(_KINDS)](bridges[i], companies[i]) for i in range(OBJECTIVES)]
    chance.shuffle(made)
    return tuple(made)


def normalise(text: str) -> list[str]:
    """Words as the usual QA scores count them: lower case, no punctuation, no articles."""
    bare = "".join(" " if letter in string.punctuation else letter for letter in text.lower())
    return [word for word in bare.split() if word not in ("a", "an", "the")]


def token_f1(answer: str, gold: str) -> float:
    """Token-level F1 of one answer."""
    said, wanted = normalise(answer), normalise(gold)
    common = sum((Counter(said) & Counter(wanted)).values())
    if not common:
        return float(said == wanted)
    precision, recall = common / len(said), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def answers_in(text: str) -> list[str]:
    """The agent's answers, in order; the last <answer> counts, and without one the whole text."""
    found = _ANSWER.findall(text)
    return [part.strip() for part in (found[-1] if found else text).split(";")]


class _Started:
    tools: ClassVar[list[Message]] = [SEARCH]

    def __init__(self, corpus: Corpus, questions: Sequence[Question]) -> None:
        self._corpus, self._questions = corpus, questions

    @property
    def first_messages(self) -> list[Message]:
        listed = "\n".join(f"{number}. {question.text}" for number, question in enumerate(self._questions, 1))
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": listed}]

    def execute(self, name: str, arguments: str) -> str:
        if name != "search":
            return json.dumps({"error": f"there is no tool {name!r}; use search"})
        try:
            query = json.loads(arguments)["query"]
        except (ValueError, TypeError, KeyError):
            query = None
        if not isinstance(query, str):
            return json.dumps({"error": 'the arguments must be {"query": "…"}'})
        passages = [{"title": found.title, "text": found.text} for found in self._corpus.search(query)]
        return json.dumps({"query": query, "passages": passages}, ensure_ascii=False)

    def finished(self) -> bool:
        return False

    def score(self, answer: str) -> float:
        given = answers_in(answer)
        given += [""] * (len(self._questions) - len(given))
        return sum(token_f1(a, q.answer) for a, q in zip(given, self._questions, strict=False)) / len(self._questions)

    def close(self) -> None:
        pass


def _look_up(view: View, title: str) -> str:
    return str(view.need(Call("search", {"query": title}), ("text",), title=title)["text"])


def _resolve(view: View, question: Question, hops: int) -> str:
    """What is known after so many hops, read from what is visible."""
    known = question.start
    for hop in question.hops[:hops]:
        found = re.search(hop.pattern, _look_up(view, known))
        if found is None:
            raise Missing(known, Call("search", {"query": known}))
        known = found[1]
    return known


class EightQuestions:
    """Ten tasks of eight questions each."""

    name = "qa"
    metric = "token F1, %"
    max_turns = 60

    def task_ids(self) -> Sequence[str]:
        return [f"qa-{number:02d}" for number in range(1, TASKS + 1)]

    def start(self, task_id: str) -> Environment:
        return _Started(build_corpus(SEED), questions_of(int(task_id.removeprefix("qa-"))))

    def program(self, task_id: str) -> Sequence[Act]:
        """Searches hop by hop, notes each answer as it is found, and answers all in the last turn.

        An answer is read from its note where that is visible, else from the passages.
        """
        questions = questions_of(int(task_id.removeprefix("qa-")))

        def known(view: View, number: int) -> str:
            note = re.compile(rf"^Answer {number + 1}: (.*)$", re.MULTILINE)
            noted = next((found[1] for text in reversed(view.texts) if (found := note.search(text))), None)
            return noted or _resolve(view, questions[number], len(questions[number].hops))

        def search(number: int, hop: int) -> Act:
            def act(view: View) -> Turn:
                title = _resolve(view, questions[number], hop)
                note = f"Answer {number}: {known(view, number - 1)}\n" if number and not hop else ""
                return Turn(f"{note}I look up {title}.", (Call("search", {"query": title}),))

            return act

        def answer(view: View) -> Turn:
            return Turn(f"<answer>{'; '.join(known(view, number) for number in range(len(questions)))}</answer>")

        hops = [(number, hop) for number, question in enumerate(questions) for hop in range(len(question.hops))]
        return [*(search(number, hop) for number, hop in hops), answer]
