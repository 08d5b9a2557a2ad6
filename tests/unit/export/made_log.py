"""Makes an inspect log as the reference pipeline leaves it: `python -m tests.unit.export.made_log DIR`.

Two tasks, two epochs; the second epoch of one ends with an error, as one unreadable verdict makes it there, and the first
of a third has no answer. Mock models only.
"""

import sys
from typing import Any

from inspect_ai import Epochs, Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import generate

RUBRICS = {"12": [("12-01", 7), ("12-02", 3), ("09b-02", 5), ("06u1", 4), ("12-03", -4)],
           "15": [("15-01", 7), ("01a-01", 2), ("01u2", -3)], "18": [("18-01", 5)]}


def _output(text: str) -> ModelOutput:
    found = ModelOutput.from_content("mock", text)
    found.usage = ModelUsage(input_tokens=100, output_tokens=20, total_tokens=150, input_tokens_cache_read=30)
    return found


@scorer(metrics=[mean(), stderr()])
def criteria_scorer(judge_prompt_version: str = "v1") -> Any:
    async def score(state: Any, target: Any) -> Score:
        if not state.output.completion:
            raise ValueError("CANARYERROR no answer")
        if state.sample_id == "15" and state.epoch == 2:
            raise ValueError("CANARYERROR the judge said perhaps")
        judge, results = get_model(role="grader"), []
        for i, (criterion, weight) in enumerate(RUBRICS[state.sample_id]):
            await judge.generate("CANARYPROMPT", config=GenerateConfig(reasoning_tokens=1024))
            results.append({"criterion_id": criterion, "weight": weight, "judgement": i % 2 == 0})
        earned = sum(r["weight"] for r in results if r["judgement"])
        return Score(value=earned / sum(max(r["weight"], 0) for r in results), metadata={"scoring_results": results})

    return score


def make(folder: str) -> str:
    """Write the log; its path is returned."""
    samples = [Sample(id=key, input=[ChatMessageSystem(content="CANARYSYSTEM"), ChatMessageUser(content=f"CANARYTASK {key}")],
                      target="CANARYREFERENCE", metadata={"competency": f"0{i}. Competency", "version": "1.0"})
               for i, key in enumerate(RUBRICS, 1)]
    task = Task(dataset=MemoryDataset(samples, name="l2-bench-samples"), solver=generate(), scorer=criteria_scorer(),
                epochs=Epochs(2, "mean"), name="l2-bench-eval")

    def answer(messages: Any, *_: Any) -> ModelOutput:
        return _output("" if "18" in messages[-1].text else "CANARYANSWER")

    solver = get_model("mockllm/solver", custom_outputs=answer)
    judge = get_model("mockllm/judge", custom_outputs=lambda *_: _output("CANARYJUDGE\ntrue"))
    return eval(task, model=solver, model_roles={"grader": judge}, log_dir=folder, display="none", fail_on_error=False,
                temperature=0.0, max_tokens=4096)[0].location


if __name__ == "__main__":
    print(make(sys.argv[1]))
