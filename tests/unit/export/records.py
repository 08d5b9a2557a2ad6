"""Writes Every Eval Ever records of many kinds of made runs below a folder: `python -m tests.unit.export.records DIR`.

For the CI step that shows them to the public validator.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from pipeline.core.files import write_files
from pipeline.export import export
from tests.unit.export.kit import made_run

KINDS: tuple[dict[str, Any], ...] = (
    {}, {"kind": "hub", "solver": "bedrock/us.anthropic.claude-sonnet-4-6", "seed": 2},
    {"solver": "openrouter/google/gemma-4-31b-it:free", "epochs": 2}, {"solver": "openai-api/custom/my-model", "priced": False},
    {"solver": "hf-inference-providers/Qwen/Qwen3-32B:groq", "judge": "openrouter/deepseek/deepseek-v3.2", "prompt": "v4"},
    {"solver": "bedrock/arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2", "faults": 0.6},
    {"solver": "fireworks/accounts/fireworks/models/kimi-k2p5", "done": 9, "status": "stopped"},
    {"solver": "demo/strong", "tasks": 1, "faults": 0.0}, {"skill": -1.0, "seed": 5, "solver": "mockllm/below-zero", "tasks": 12},
    {"solver": "openrouter/con/aux.model", "differences": ("temperature not sent", "a \"quoted\" thing\nover two lines")},
    {"skill": 1.0, "faults": 0.0, "solver": "openai-api/local/SmolLM2-135M-Instruct"},
)


def main(out: Path) -> int:
    """Write one record for each kind; the number written is returned."""
    with tempfile.TemporaryDirectory() as folder:
        for i, kind in enumerate(KINDS):
            made = export(made_run(Path(folder) / str(i), **kind), "eee")
            write_files({out / name: data for name, data in made.items()})
    return len(KINDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
