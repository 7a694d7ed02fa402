"""Draws the README's chart: how long others take for the same work, with ours as 1. For bench/page.

By hand, and not by a library: the same table gives the same bytes everywhere, so `make test` draws the chart anew and compares, and needs nothing
installed for it. matplotlib would bring 51 packages and 477 MB (Debian 12), other bytes with another version, and no colours for dark mode.
"""

import math
import re
import xml.etree.ElementTree as xml

BLOCK = re.compile(r"<!-- benchmark -->.*<!-- /benchmark -->", re.S)
LIMIT = "†"  # behind the name of what is never the best peer
FIGURE = r"\**([0-9.]+)\** \([^()]*\)"  # 33.4 (31–38; 40)

# The rows of the chart, in plain words: where ours is faster, where nobody is, and where others are.
CHOSEN = {
    "K1": "Lock and unlock, nobody else wants it (C)",
    "K3b": "A lock that two threads share (C)",
    "K4-16-swift": "A value behind a lock, for 16 threads (Swift)",
    "K5-16": "The longest of 16 threads’ waits for a lock (C)",
    "M4-4": "Jobs from 4 threads to one that sleeps between (C)",
    "H1": "Wake a sleeping thread, and get its answer (Swift)",
    "R1r-1M": "Set one of a million timers anew (C)",
    "P1": "Run a closure on the pool (Swift)",
    "P2n": "Fork and join, for each call of fib(32) (C)",
    "P3h": "A hop from one serial queue to another (C)",
    "P4": "Until a job runs, when all threads are blocked",
    "G1": "Memory of a waiting closure (Swift)",
}

WIDTH, LEFT, RIGHT = 900, 456, 796  # of the picture, and where the scale begins and ends; the longest label is right of that
TOP, HEIGHT, BAR = 112, 40, 14  # where the rows begin, a row's height, a bar's
SAME = 1.15  # within a row, less is no difference: see bench/README.md

# On a background of its own: a page may be dark where the system is light. Colours that differ in lightness, too.
STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif; fill: #1f2328; stroke: #ffffff; stroke-width: 3px; paint-order: stroke }
  .title { font-size: 17px; font-weight: 600 } .soft { fill: #59636e } .back { fill: #ffffff; stroke: #d1d9e0 } .band { fill: #e6eaef }
  .grid { stroke: #d1d9e0 } .ours { stroke: #1f2328; stroke-width: 2 } .dispatch { fill: #bc4c00 } .other { fill: #4493f8 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; stroke: #0d1117 } .soft { fill: #9198a1 } .back { fill: #0d1117; stroke: #3d444d } .band { fill: #262c36 }
    .grid { stroke: #3d444d } .ours { stroke: #f0f6fc } .dispatch { fill: #f0883e } .other { fill: #1f6feb }
  }
"""


class Refused(Exception):
    pass


def short(value):
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def factor(ratio):
    digits = 2 if ratio < 2 else 1 if ratio < 10 else 0
    return f"{ratio:.{digits}f}×"


def draw(rows, caption):
    """The SVG; in one piece, from top to bottom. `rows`: (label, our figure with its unit, [(class, name, what it takes when ours is 1)])."""
    ratios = [ratio for _, _, others in rows for _, _, ratio in others]
    low, high = math.floor(math.log10(min([0.1, *ratios]))), math.ceil(math.log10(max([10, *ratios])))
    at = lambda ratio: LEFT + (math.log10(ratio) - low) / (high - low) * (RIGHT - LEFT)
    bottom = TOP + HEIGHT * len(rows)
    height = bottom + 58
    svg = xml.Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH} {height}", width=f"{WIDTH}", height=f"{height}", role="img")

    def add(tag, text=None, **attributes):
        shown = {name.rstrip("_").replace("_", "-"): value if isinstance(value, str) else f"{value:g}" for name, value in attributes.items()}
        xml.SubElement(svg, tag, {name: value for name, value in shown.items() if value}).text = text

    def write(text, x, y, kind="", anchor=""):
        add("text", text, x=round(x, 1), y=y, class_=kind, text_anchor=anchor)

    add("title", "How long others take for the same work, with Scheduler as 1×")
    add("desc", "; ".join(f"{label}: Scheduler {ours}" + "".join(f", {name} {factor(ratio)}" for _, name, ratio in others) for label, ours, others in rows))
    add("style", STYLE)
    add("rect", class_="back", x=0.5, y=0.5, width=WIDTH - 1, height=height - 1, rx=8)
    write("How long others take for the same work, when Scheduler takes 1", 20, 32, "title")
    for x, kind, text in [(20, "dispatch", "Dispatch"), (112, "other", "the best of the other libraries in that row of the benchmark")]:
        add("rect", class_=kind, x=x, y=44, width=12, height=12)
        write(text, x + 18, 55)
    write("bars to the right: slower than Scheduler; to the left: faster", 20, 78, "soft")
    write("Scheduler", 428, TOP - 10, "soft", "end")

    add("rect", class_="band", x=round(at(1 / SAME), 1), y=TOP - 4, width=round(at(SAME) - at(1 / SAME), 1), height=bottom - TOP + 4)
    for power in range(low, high + 1):
        x = round(at(10**power), 1)
        add("line", class_="grid", x1=x, x2=x, y1=TOP - 4, y2=bottom)
        write(f"{10**power:g}×", x, TOP - 10, "soft", "middle")
    for number, (label, ours, others) in enumerate(rows):
        y = TOP + HEIGHT * number
        write(label, 20, y + 23)
        write(ours, 428, y + 23, "soft", "end")
        for lane, (kind, name, ratio) in enumerate(others):
            upper = y + (HEIGHT - (BAR + 2) * len(others)) / 2 + (BAR + 2) * lane + 1
            start, end = sorted([at(1), at(ratio)])
            add("rect", class_=kind, x=round(start, 1), y=upper, width=round(max(end - start, 1.5), 1), height=BAR)
            write(f"{name} {factor(ratio)}", max(end, at(SAME)) + 6, upper + 11.5)
        if not others:
            write("nobody to compare with was installed", at(SAME) + 6, y + 23, "soft")
    add("line", class_="ours", x1=round(at(1), 1), x2=round(at(1), 1), y1=TOP - 4, y2=bottom)
    write("Logarithmic scale. Medians; a difference under 15 % (grey) is none. “waiting closure” is memory, the others are time.", 20, bottom + 24, "soft")
    write(caption, 20, bottom + 43, "soft")
    xml.indent(svg)
    return xml.tostring(svg, encoding="unicode") + "\n"


def legible(value, unit):
    return f"{short(value / 1000)} µs" if unit == "ns" and value >= 1000 else f"{short(value)} {unit}"


def of(page):
    """The chart of the table that is in a page: so it cannot say anything else."""
    if not (block := BLOCK.search(page)):
        raise Refused("there is no table to draw")
    machine = block[0].splitlines()[1].partition("; `make bench`")[0]
    cells = [[cell.strip() for cell in text.strip("|").split("|")] for text in block[0].splitlines() if text.startswith("| ")]
    table_rows = {cell[0]: cell[1:] for cell in cells}
    rows = []
    for id, label in CHOSEN.items():
        if id not in table_rows:
            raise Refused(f"the chart needs row {id}")
        work, ours, dispatch, _, others, _ = table_rows[id]
        one = re.fullmatch(FIGURE, ours)
        if not one or not (least := float(one[1])):
            raise Refused(f"{id}: our figure {ours} is nothing to divide by")
        compared = [("dispatch", "Dispatch", float(found[1]) / least) for found in [re.fullmatch(FIGURE, dispatch)] if found]
        if dispatch != "–" and not compared:
            raise Refused(f"{id}: {dispatch} is no figure")
        peers = []
        for text in others.split(" · ") if others != "–" else []:
            if not (found := re.fullmatch(rf"(.+) {FIGURE}", text)):
                raise Refused(f"{id}: {text} is no figure")
            if not found[1].startswith("csched_") and not found[1].endswith(LIMIT):
                peers.append((float(found[2]), found[1]))
        compared += [("other", name, value / least) for value, name in [min(peers)]] if peers else []
        rows.append((label, legible(least, work.rpartition(", ")[2]), compared))
    return draw(rows, machine)
