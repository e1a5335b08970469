"""A made-up encyclopaedia: towns, bridges, engineers and companies, the same for the same seed, and a search over it.

Nothing in it is known to any model, so that every answer has to come from a passage that was read.
"""

import math
import random
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

SYLLABLES = ("bar", "cor", "del", "fen", "gal", "hol", "jor", "kel", "lum", "mar", "nor", "per", "quil", "ros", "sel")
TOWN_ENDS = ("burgh", "mouth", "stead", "wick", "ford", "haven")
FIRST_NAMES = ("Ada", "Bruno", "Clara", "Dario", "Edith", "Felix", "Greta", "Henrik", "Ines", "Jonas", "Kira", "Levin")
PRODUCTS = ("ship clocks", "loom shuttles", "glass floats", "barometers", "organ pipes", "rope pulleys", "sextants")
FILLER = (
    "Records from before the great flood are incomplete, and what is known comes from parish books and letters.",
    "The regional museum keeps a model, a set of drawings and two photographs, which are shown every other summer.",
    "Visitors usually arrive by the coast railway, which has run four times a day since the timetable reform.",
    "A restoration, paid for by a lottery, took three years and was finished without the usual quarrels.",
    "Local guides like to tell a story about a goat and a bell, for which no source has ever been found.",
    "The winters are mild and wet; the summers are short, and the evenings are long.",
    "An inventory of the archive was printed in two volumes, of which the second is out of print.",
    "Several school books mention it, mostly in passing and often with the wrong date.",
)
PASSAGES = 3
"""Passages that a search returns."""

_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class Passage:
    """A document of the corpus."""

    title: str
    text: str


@dataclass(frozen=True)
class Town:
    name: str
    river: str
    mayor: str


@dataclass(frozen=True)
class Bridge:
    name: str
    town: Town
    engineer: str
    born: int


@dataclass(frozen=True)
class Company:
    name: str
    town: Town
    founder: str
    product: str


@dataclass(frozen=True)
class Corpus:
    """Facts and the passages that tell them."""

    bridges: tuple[Bridge, ...]
    companies: tuple[Company, ...]
    passages: tuple[Passage, ...]

    def search(self, query: str) -> list[Passage]:
        """The passages most like the query: shared words weighted by rarity, a title's words twice."""
        wanted = set(_WORD.findall(query.lower()))
        index, rarity = _index(self)
        scores = [sum(rarity[word] * counts[word] for word in wanted if word in counts) for counts in index]
        order = sorted(range(len(index)), key=lambda i: (-scores[i], i))
        return [self.passages[i] for i in order[:PASSAGES] if scores[i] > 0]


@cache
def _index(corpus: Corpus) -> tuple[list[Counter[str]], dict[str, float]]:
    found = []
    for passage in corpus.passages:
        words = Counter(dict.fromkeys(_WORD.findall(passage.text.lower()), 1))
        words.update(dict.fromkeys(_WORD.findall(passage.title.lower()), 1))
        found.append(words)
    holders = Counter(word for counts in found for word in counts)
    return found, {word: math.log(len(found) / count) for word, count in holders.items()}


class _Names:
    """Distinct made-up names."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._given: set[str] = set()

    def make(self, pattern: str) -> str:
        """`pattern` with S for a syllable pair, T for a town's name, F for a first name."""
        while True:
            pair = "".join(self._chance.sample(SYLLABLES, 2)).capitalize()
            town = self._chance.choice(SYLLABLES).capitalize() + self._chance.choice(TOWN_ENDS)
            name = pattern.format(S=pair, T=town, F=self._chance.choice(FIRST_NAMES))
            if name not in self._given:
                self._given.add(name)
                return name


def _passage(chance: random.Random, title: str, facts: list[str]) -> Passage:
    sentences = facts + chance.sample(FILLER, 5)
    head, tail = sentences[0], sentences[1:]
    chance.shuffle(tail)
    return Passage(title, " ".join([head, *tail]))


@cache
def build_corpus(seed: int, size: int = 40) -> Corpus:
    """`size` bridges with their engineers, `size` companies, and half as many towns."""
    chance = random.Random(seed)
    names = _Names(chance)
    towns = [Town(names.make("{T}"), names.make("{S}"), names.make("{F} {S}")) for _ in range(size // 2)]
    bridges = tuple(
        Bridge(names.make("{S} Bridge"), chance.choice(towns), names.make("{F} {S}"), chance.randint(1790, 1940))
        for _ in range(size)
    )
    companies = tuple(
        Company(names.make("{S} & Sons"), chance.choice(towns), names.make("{F} {S}"), chance.choice(PRODUCTS))
        for _ in range(size)
    )
    passages = [
        _passage(
            chance,
            town.name,
            [
                f"{town.name} is a town of about {chance.randint(3, 90)},000 people.",
                f"The river {town.river} flows through it.",
                f"Its mayor is {town.mayor}.",
            ],
        )
        for town in towns
    ]
    for bridge in bridges:
        facts = [
            f"The {bridge.name} stands in the town of {bridge.town.name}.",
            f"It was designed by {bridge.engineer}.",
            f"It is {chance.randint(60, 900)} metres long.",
        ]
        passages.append(_passage(chance, bridge.name, facts))
        born = [f"{bridge.engineer} was an engineer.", f"The year of birth is {bridge.born}."]
        passages.append(_passage(chance, bridge.engineer, born))
    for company in companies:
        facts = [
            f"{company.name} is a company that makes {company.product}.",
            f"It was founded by {company.founder}.",
            f"Its headquarters are in the town of {company.town.name}.",
        ]
        passages.append(_passage(chance, company.name, facts))
    chance.shuffle(passages)
    return Corpus(bridges, companies, tuple(passages))
