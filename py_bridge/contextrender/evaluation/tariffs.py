"""The price lists that costs are given in."""

from contextrender.evaluation.cost import PAPER, Tariff

TARIFFS: dict[str, Tariff] = {"paper": PAPER}
