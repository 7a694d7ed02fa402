"""Weakens each ordering of the core, one at a time. An ordering whose weakening no check finds is not needed, or not tested.

A file that says "Models: none" is left out: no check runs it.
"""

import re

import source

# The weaker forms of each operation. Forms that the core does not use are only in the model's atomic.h.
WEAKER = {
    "load_acquire": ["load_relaxed"],
    "store_release": ["store_relaxed"],
    "exchange_acquire": ["exchange_relaxed"],
    "exchange_release": ["exchange_relaxed"],
    "fetch_add_release": ["fetch_add_relaxed"],
    "fetch_add_acq_rel": ["fetch_add_acquire", "fetch_add_release"],
    "cas_acquire": ["cas_relaxed"],
    "cas_release": ["cas_relaxed"],
    "cas_acq_rel": ["cas_acquire", "cas_release"],
    "fence_light_": ["fence_compiler"],
    "fence_heavy_": ["fence_compiler"],
    "fence_full": ["fence_compiler"],
}
OPERATION = re.compile(r"csched_(" + "|".join(sorted(WEAKER, key=len, reverse=True)) + r")\(")
FUNCTION = re.compile(r"^\w[^;={]*?\b(\w+)\([^;]*\{")


def weakenings(root):
    """Yields (name, file below Sources/CScheduler, mutated text) for each."""
    sources = root / "Sources/CScheduler"
    for path in source.core_files(sources):
        text, position, function, counts = path.read_text(), 0, "", {}
        if path.name == "atomic.h" or "\n// Models: none" in text:
            continue
        for line in text.split("\n"):
            found = FUNCTION.match(line)
            if found:
                function, counts = found[1], {}
            for match in OPERATION.finditer(line.split("//")[0]):
                operation = match[1]
                counts[operation] = counts.get(operation, 0) + 1
                number = f" {counts[operation]}" if counts[operation] > 1 else ""
                at = position + match.start(1)
                for weaker in WEAKER[operation]:
                    mutated = text[:at] + weaker + text[at + len(operation):]
                    yield (f"{path.name}: {function}: {operation}{number} becomes {weaker}",
                           str(path.relative_to(sources)), mutated)
            position += len(line) + 1
