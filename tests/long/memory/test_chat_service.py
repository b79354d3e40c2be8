"""A chat service with lessons whose process is killed: a smaller run of `python -m tests.support.chat_service`."""

from tests.support.chat_service import BUSY, LIMIT, check, play


async def test_killed_again_and_again_a_chat_service_loses_nothing_and_mixes_no_users(tmp_path):
    outcome = await play(tmp_path, users=40, requests=300, kills=5, samples=3)
    found = await check(tmp_path, outcome)
    assert found["answered"] == 300, found
    assert found["kills"] == 5
    assert found["wrong answers"] == 0, found
    assert found["lessons of other users in prompts"] == 0
    assert found["namespaces with other users' words"] == 0
    assert found["users whose trials are counted wrongly"] == 0, found
    assert found["solved at once, last quarter"] > found["solved at once, first quarter"], "they learn"
    assert all(sample.lessons <= LIMIT for sample in outcome.samples)
    assert len(outcome.trials[BUSY]) > 40
