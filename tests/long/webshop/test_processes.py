import json
import os
import subprocess
import sys

from tests.support.webshop import write


def test_goals_do_not_depend_on_the_hash_seed(tmp_path):
    write(tmp_path)
    program = (
        "import json, sys\n"
        "from langgraph_reflexion.envs.webshop.environment import WebShop\n"
        "environment = WebShop(path=sys.argv[1], seed=3)\n"
        "own = environment.tasks('own', 5)\n"
        "episode = environment.start(own[0])\n"
        "seen = [episode.step(environment.parse(text)).observation for text in ('search[green and blue]',)]\n"
        "print(json.dumps([environment.tasks(), own, seen]))\n"
    )
    told = []
    for hashes in ("1", "2"):
        environment = {"PYTHONHASHSEED": hashes, "XDG_CACHE_HOME": str(tmp_path / hashes)}
        command = [sys.executable, "-c", program, str(tmp_path)]
        done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        told.append(json.loads(done.stdout))
    assert told[0] == told[1]
    assert len(told[0][0]) == 4
