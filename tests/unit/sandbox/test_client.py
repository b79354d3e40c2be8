from langgraph_reflexion.envs.sandbox.client import Capture


def test_capture_keeps_both_ends():
    capture = Capture(10, 100)
    for number in range(30):
        capture.take(b"%d" % (number % 10))
    assert capture.kept == b"01234\n[... 20 bytes left out ...]\n56789"
    assert capture.truncated
    assert not capture.flooded
