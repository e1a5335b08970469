"""App. B.4: which tokens are eligible, which result they belong to, what counts as an event."""

from contextrender.evaluation.events import ReuseEvent, reuse_events
from tests.core.conversations import Message, assistant, result, step, user


def events(messages: list[Message]) -> list[tuple[int, int]]:
    return [(event.turn, event.position) for event in reuse_events(messages)]


def test_a_later_turn_that_repeats_a_token_of_a_result_is_an_event() -> None:
    assert events([user("t"), *step("a", "order_17"), assistant("use order_17")]) == [(2, 2)]


def test_tokens_need_six_characters_and_an_upper_case_letter_or_underscore() -> None:
    messages = [user("t"), *step("a", "ord_1 lowercase 1234567"), assistant("ord_1 lowercase 1234567")]
    assert events(messages) == []


def test_titlecase_words_are_eligible_and_periods_separate() -> None:
    assert events([user("t"), *step("a", "Kathryn"), assistant("Kathryn.done")]) == [(2, 2)]


def test_matching_is_case_sensitive_and_whole_token() -> None:
    assert events([user("t"), *step("a", "Kathryn"), assistant("KATHRYN Kathryns")]) == []


def test_a_token_of_the_task_the_system_prompt_or_earlier_assistant_text_belongs_to_no_result() -> None:
    known = [{"role": "system", "content": "sys_token"}, user("user_token"), assistant("said_token")]
    messages = [*known, *step("a", "sys_token user_token said_token"), assistant("sys_token user_token said_token")]
    assert events(messages) == []


def test_a_token_first_said_in_a_calls_arguments_belongs_to_no_result() -> None:
    assert events([user("t"), *step("a", "order_17", '{"id": "order_17"}'), assistant("order_17")]) == []


def test_use_in_call_arguments_counts_decoded() -> None:
    assert events([user("t"), *step("a", "C142XYZ"), *step("b", "x", '{"text": "\\nC142XYZ"}')]) == [(2, 2)]


def test_each_turn_and_result_pair_counts_once_and_each_turn_again() -> None:
    messages = [user("t"), *step("a", "ab_cde fg_hij"), assistant("ab_cde fg_hij ab_cde"), assistant("fg_hij")]
    assert events(messages) == [(2, 2), (3, 2)]


def test_only_the_first_result_that_shows_a_token_owns_it() -> None:
    assert events([user("t"), *step("a", "order_17"), *step("b", "order_17"), assistant("order_17")]) == [(3, 2)]


def test_age_counts_model_invocations_from_the_one_that_made_the_call() -> None:
    messages = [user("t"), *step("a", "order_17"), *(assistant(f"step {i}") for i in range(4)), assistant("order_17")]
    assert reuse_events(messages) == [ReuseEvent(6, 2, 4)]
    assert reuse_events(messages)[0].age_bin == "4-10"


def test_bins_are_those_of_table_4() -> None:
    ages = {age: ReuseEvent(1, 1, age).age_bin for age in (0, 3, 4, 10, 11, 25, 26)}
    assert ages == {0: "<=3", 3: "<=3", 4: "4-10", 10: "4-10", 11: "11-25", 25: "11-25", 26: ">25"}


def test_a_repeated_call_id_belongs_to_the_latest_earlier_call() -> None:
    messages = [user("t"), *step("a", "x"), *step("a", "order_17"), assistant("no"), assistant("order_17")]
    assert reuse_events(messages) == [ReuseEvent(4, 4, 1)]


def test_a_result_without_a_call_is_of_the_turn_it_arrived_in() -> None:
    assert reuse_events([user("t"), assistant("a"), result("x", "order_17"), assistant("order_17")])[0].age == 0
