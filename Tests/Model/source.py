"""Finds places of a C source by what they say to the compiler, and by the obligation that they serve: comments may be reworded, and
lines laid out anew, without a mutant losing its place."""

import re

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|\w+|->|\S', re.S)
TAG = re.compile(r"\b[A-Z]{1,3}\d+\b")
ATOMIC = re.compile(r"\bcsched_(?:load|store|exchange|fetch|cas|fence)_\w+\(")


def tokens(text):
    """The tokens of `text` without its comments, each with where it begins and ends."""
    found = ((m[0], m.start(), m.end()) for m in TOKEN.finditer(text))
    return [each for each in found if not each[0].startswith(("//", "/*"))]


def tags(text, start, end):
    """The obligations that the comments of the lines from `start` to `end` name."""
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
    """A source, to be asked many times."""

    def __init__(self, text):
        self.text, self.tokens = text, tokens(text)
        self.words = [each[0] for each in self.tokens]

    def places(self, code, tag=None):
        """The (start, end) of each place that says `code`, on lines that bear `tag`."""
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
