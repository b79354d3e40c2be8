"""A chat service with lessons whose process is killed: a smaller run of `python -m tests.support.chat_service`."""

from tests.support.chat_service import check, faults, play

SIZE = {"users": 40, "requests": 300, "kills": 5, "limit": 20}


async def test_killed_again_and_again_a_chat_service_loses_nothing_and_mixes_no_users(tmp_path):
    outcome = await play(tmp_path, **SIZE)
    found = await check(tmp_path, outcome)
    assert faults(found, outcome.samples, **SIZE) == [], found
