"""Finds code in a C source by its tokens, and by the tag of its invariant: comments may be reworded, and
lines reformatted, and a mutant's code is still found."""

import re

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|\w+|->|\S', re.S)
TAG = re.compile(r"\b[A-Z]{1,3}\d+\b")
ATOMIC = re.compile(r"\bcsched_(?:load|store|exchange|fetch|cas|fence)_\w+\(")


def core_files(folder):
    """The core's files, but for the platform layer, for which the model has its own."""
    return sorted(path for path in folder.rglob("*.[ch]") if "platform" not in path.parts)


def tokens(text):
    """The tokens of `text` without its comments, each with where it begins and ends."""
    found = ((m[0], m.start(), m.end()) for m in TOKEN.finditer(text))
    return [each for each in found if not each[0].startswith(("//", "/*"))]


def tags(text, start, end):
    """The invariants that the comments of the lines from `start` to `end` name."""
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    lines = text[begin: stop if stop >= 0 else len(text)].split("\n")
    # A statement that the formatter has broken has its tag on a line further on.
    found = set()
    for line in lines:
        if "//" in line:
            found |= set(TAG.findall(line.split("//", 1)[1]))
    return found


class Source:
    """A source with its tokens."""

    def __init__(self, text):
        self.text, self.tokens = text, tokens(text)
        self.words = [each[0] for each in self.tokens]

    def places(self, code, tag=None):
        """The (start, end) of each place whose tokens are those of `code`, on lines with `tag`."""
        wanted = [each[0] for each in tokens(code)]
        found = []
        for at in range(len(self.words) - len(wanted) + 1):
            if self.words[at] == wanted[0] and self.words[at:at + len(wanted)] == wanted:
                start, end = self.tokens[at][1], self.tokens[at + len(wanted) - 1][2]
                if tag is None or tag in tags(self.text, start, end):
                    found.append((start, end))
        return found


def atomic_lines(text):
    """The numbers of the lines with an atomic operation or a fence, from 1."""
    return [number for number, line in enumerate(text.split("\n"), 1) if ATOMIC.search(line.split("//")[0])]


def changed_lines(text, mutated):
    """The numbers of the lines of `text` that differ in `mutated`, which differs in one place."""
    least = min(len(text), len(mutated))
    start = next((i for i in range(least) if text[i] != mutated[i]), least)
    end = next((i for i in range(least - start) if text[-1 - i] != mutated[-1 - i]), least - start)
    return range(text.count("\n", 0, start) + 1, text.count("\n", 0, max(start, len(text) - end)) + 2)


FUNCTION = re.compile(r"^\w[^;={]*?\b(\w+)\([^;]*\{")


def function_at(text, position):
    """The name of the function of C that `position` is in."""
    name = ""
    for line in text[:text.find("\n", position)].split("\n"):
        found = FUNCTION.match(line)
        name = found[1] if found else name
    return name


def find(source, code, where, name, file):
    """The only place of `code` in the file, or at `where`: a tag, a function, or both. Ends the program if there are several, or none."""
    places = source.places(code)
    for word in where.split():
        if TAG.fullmatch(word):
            places = [each for each in places if word in tags(source.text, *each)]
        else:
            places = [each for each in places if function_at(source.text, each[0]) == word]
    if len(places) != 1:
        raise SystemExit(f"Tools/model: mutant '{name}': its code stands {len(places)} times in {file}{' at ' + where if where else ''}, not once")
    return places[0]


def replace(text, code, new, name, file, where=""):
    """`text` with `new` in the one place of `code`."""
    start, end = find(Source(text), code, where, name, file)
    return text[:start] + new + text[end:]
