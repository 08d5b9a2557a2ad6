"""This project's own judge templates v1 to v4 and the retry suffix, in str.format form. Never the published texts.

They follow the structure of the four published versions (what the judge sees, what it is asked to write), in own
words; a run that uses them says so beside its score.
"""

_OPENING = """You check one thing about a piece of work. An AI assistant was given a task by someone who teaches or \
learns English as an additional language, and it wrote a response. You are given one criterion. Decide whether the \
response meets that criterion, and nothing else: leave aside its other merits and faults.
"""

_TASK = """
=== Task given to the assistant (with its resources) ===
{task_text}
"""

_REFERENCE = """
=== Reference answer, written by an expert ===
{reference_answer}

The reference shows one good way to do the task. A response may differ from it and still meet the criterion.
"""

_RESPONSE = """
=== Response of the assistant ===
{ai_response}
"""

_CRITERION = """
=== Criterion ===
{criterion_description}
"""

_DEFINITIONS = """
=== What true and false mean ===
true: the response itself shows, in so many words or beyond reasonable doubt, what the criterion describes.
false: it is absent, only promised, only partly there where the criterion asks for all of it, or contradicted \
elsewhere in the response.
Some criteria describe a fault. Then true means that the fault is present.

=== Worked examples ===
Example 1. Criterion: "Gives instructions in short steps". The response lists five steps of one short sentence each. \
Critique: every step is one short sentence, so learners can follow them one at a time. Verdict: true
Example 2. Criterion: "Suggests two ways to check understanding". The response suggests concept questions and nothing \
further. Critique: one way is given where two are asked for. Verdict: false
Example 3. Criterion: "Praises the learner only in general terms". The response says "well done" and quotes two \
phrases that worked. Critique: the criterion describes a fault, and the quoted phrases make the praise specific, so \
the fault is not there. Verdict: false
"""

_VERDICT_ONLY = """
Answer with one word and nothing else: true if the response meets the criterion, false if it does not.
"""

_CRITIQUE = """
First write a critique of two to four sentences that points at the passages which decide the matter. Then, on a last \
line of its own, write one word with no mark or label around it: true if the response meets the criterion, false if \
it does not.
"""

OWN_TEMPLATES: dict[str, str] = {
    "v1": _OPENING + _TASK + _REFERENCE + _RESPONSE + _CRITERION + _VERDICT_ONLY,
    "v2": _OPENING + _DEFINITIONS + _TASK + _REFERENCE + _RESPONSE + _CRITERION + _CRITIQUE,
    "v3": _OPENING + _TASK + _RESPONSE + _CRITERION + _CRITIQUE,
    "v4": _OPENING + _DEFINITIONS + _TASK + _RESPONSE + _CRITERION + _CRITIQUE,
}

OWN_RETRY_SUFFIX = """

Your last reply did not end in a verdict that could be read. Judge the criterion again. The last line must hold one \
word alone, true or false, without quotation marks, asterisks, label or full stop."""
