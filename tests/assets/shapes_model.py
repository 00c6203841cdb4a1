"""A scripted model that plays every part in the recipes beyond one prompt: planner, writer, student, teacher, programmer."""

import json

from corpusmill.engines.inference import ChatRequest

PROGRAM = "```python\nchairs = 4\nlegs = 3\nprint(chairs * legs)\n```"
CALL = "Thought: Multiply chairs by legs.\nTool: python\nInput:\nprint(4 * 3)"
LOOK = "Thought: I look for chairs.\nTool: search\nInput:\nchairs in the hall"

DRIVER = "```python\nfor number in (7, 1234):\n    print(digits(number))\n```"
TRANSLATED = """```javascript
function digits(number, base = 10) {
  let count = 1;
  while (number >= base) { number = Math.floor(number / base); count += 1; }
  return count;
}
for (const number of [7, 1234]) console.log(digits(number));
```"""
SECTIONS = {
    "The pier": "The long pier of the harbour shelters the boats from the north wind, and a lamp at its end guides the boats.",
    "The market": "On market days the fishermen sell herring and cod in the square, and travellers come from the villages.",
}
LESSON = [
    "What is the energy of a body at rest?",
    "The energy of a body at rest is its mass multiplied by the square of the speed of light.",
    "Why is that energy so large?",
    "The speed of light is large, so even a small mass at rest has much energy.",
    "no more questions",
]

ESSAY = (
    "The harbour and the lighthouse both guide the boats home. The harbour has a long pier and a market, where the fishermen "
    "sell herring; the lighthouse stands alone on a rock and its keepers have nothing to sell."
)
FAIR = {"faithful": 5, "clear": 4, "teaches": 2}


def answer(request: ChatRequest) -> str | None:
    """Say what the recipe whose system prompt this is would hear from a good model."""
    system, *turns = [message["content"] for message in request.messages]
    shown = turns[-1]
    if "plan articles" in system:
        return "\n".join(SECTIONS)
    if "write articles" in system:
        return next(text for heading, text in SECTIONS.items() if f"“{heading}”" in shown)
    if "write lessons" in system:
        return "\n\n".join(SECTIONS.values())
    if "compare two things" in system:
        return ESSAY if "lighthouse" in shown and "herring" in shown else None
    if "judge a text" in system:
        return json.dumps({name: {"reason": "So it is.", "score": score} for name, score in FAIR.items()})
    if "student" in system or "teacher who" in system:
        return LESSON[shown.count("Student: ") + shown.count("Teacher: ")]
    if "writing Python" in system:
        return "print(4 + 3)" if len(turns) == 1 else PROGRAM
    if "with tools" in system:
        return (LOOK, CALL, "Thought: That is all.\nAnswer: 12")[len(turns) // 2]
    if "translate programs" in system:
        return DRIVER if "Write Python lines" in shown else TRANSLATED
    if "propose inputs" in system:
        return json.dumps([[7], [1234], [255, 16], [-1]])
    assert "explain Python" in system, system
    return (
        "The function `digits` counts how many digits a `number` has in a `base`. It divides the number by the base again and "
        "again, and raises an error where the number is negative, since such a number has no digits to count here."
    )
