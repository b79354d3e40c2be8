"""The request for a reflection contains what is certain about the failed trial."""

from tests.support import toys
from tests.support.toys import asks_for, text_of


def facts(act, **options):
    """Return the facts in a request for a reflection; `act` returns the next action, given how many came before."""

    def reply(messages):
        if asks_for(messages) == "reflect":
            return "I was wrong."
        return f"Action: {act(sum(message.type == 'ai' for message in messages))}"

    _, model = toys.play(reply, max_trials=2, **options)
    told = next(text_of(prompt) for prompt in model.prompts if asks_for(prompt) == "reflect")
    block = told.partition("What is certain about this trial:\n")[2].partition("\n\n")[0]
    return [line.removeprefix("- ") for line in block.splitlines()]


def test_a_repeated_action_and_the_stop_are_told():
    assert facts(lambda done: "fly away") == [
        'The last action, "fly away", was taken 4 times in a row.',
        '4 of the 4 actions did not have the form of any action here, such as "fly away".',
        "The trial was stopped after 4 actions, because the same steps were repeated.",
    ]


def test_a_trial_that_is_too_long_is_not_said_to_repeat_itself():
    [unknown, stopped] = facts(lambda done: f"fly {done}")
    assert "31 of the 31 actions" in unknown
    assert stopped == "The trial was stopped after 31 actions, because it took more actions than allowed."


def test_the_reason_of_a_heuristic_of_ones_own_is_told():
    def flailing(trajectory):
        return "flailing" if len(trajectory) == 2 else None

    assert (
        facts(lambda done: f"fly {done}", heuristic=flailing)[-1]
        == "The trial was stopped after 2 actions (flailing)."
    )
