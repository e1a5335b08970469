"""Eight questions over the made-up encyclopaedia: every answer can be found, and the score is token-level F1."""

import json

import pytest

from contextrender.benchmarks.corpus import build_corpus
from contextrender.benchmarks.questions import OBJECTIVES, SEED, EightQuestions, answers_in, questions_of, token_f1


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        ("Ada Corfen", "Ada Corfen", 1.0),
        ("the ADA, Corfen!", "ada corfen", 1.0),
        ("Ada", "Ada Corfen", 2 / 3),
        ("Ada Corfen of Delford", "Ada Corfen", 2 * 2 / 6),
        ("nobody", "Ada Corfen", 0.0),
        ("", "Ada Corfen", 0.0),
    ],
)
def test_f1_of_one_answer(answer: str, gold: str, score: float) -> None:
    assert token_f1(answer, gold) == pytest.approx(score)


def test_the_last_answer_line_counts() -> None:
    assert answers_in("<answer>a; b</answer> no: <answer>c;d</answer>") == ["c", "d"]


@pytest.mark.parametrize("number", [1, 2, 10])
def test_right_answers_score_one_and_missing_ones_their_share(number: int) -> None:
    questions = questions_of(number)
    environment = EightQuestions().start(f"qa-{number:02d}")
    right = [question.answer for question in questions]
    assert environment.score(f"<answer>{'; '.join(right)}</answer>") == 1.0
    assert environment.score(f"<answer>{'; '.join(right[:4])}</answer>") == pytest.approx(4 / OBJECTIVES)


def test_a_search_for_a_title_returns_its_passage() -> None:
    corpus = build_corpus(SEED)
    for passage in corpus.passages:
        assert passage in corpus.search(passage.title)


@pytest.mark.parametrize("arguments", ["{", "[]", "{}", '{"query": 3}', "null"])
def test_bad_arguments_are_an_error_the_model_can_read(arguments: str) -> None:
    assert "error" in json.loads(EightQuestions().start("qa-01").execute("search", arguments))
