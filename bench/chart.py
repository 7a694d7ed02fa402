"""Draws the README's chart: how long others take for the same work, with ours as 1. For bench/page.

By hand, and not by a library: the same results give the same bytes everywhere, so `make test` draws the chart anew and compares, and needs nothing
installed for it. matplotlib would bring 51 packages and 477 MB (Debian 12), other bytes with another version, and no colours for dark mode.
"""

import math
import xml.etree.ElementTree as xml

# The rows of the chart, in plain words: rows in which ours is faster, level, and slower.
CHOSEN = {
    "S1-4096": "Submit a closure to a thread (Swift)",
    "S2-4096": "Submit a closure to a serial queue (Swift)",
    "S3-4096": "Submit a closure to the pool (Swift)",
    "K1": "Lock and unlock, without contention (C)",
    "K3b": "A lock that two threads share (C)",
    "K4-16-swift": "A value behind a lock, for 16 threads (Swift)",
    "K5-16": "The longest wait of 16 threads for a lock (C)",
    "H1": "Wake a sleeping thread, and get its answer (Swift)",
    "R1r-1M": "Move one of a million timers (C)",
    "P2n": "Fork and join in each call: fib(32) (C)",
    "P3": "A hop from one serial queue to another (Swift)",
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
            write("no other library was installed", at(SAME) + 6, y + 23, "soft")
    add("line", class_="ours", x1=round(at(1), 1), x2=round(at(1), 1), y1=TOP - 4, y2=bottom)
    write("Logarithmic scale. Medians; a difference under 15 % (grey) is none. “waiting closure” is memory, the others are time.", 20, bottom + 24, "soft")
    write(caption, 20, bottom + 43, "soft")
    xml.indent(svg)
    return xml.tostring(svg, encoding="unicode") + "\n"


def legible(value, unit):
    scale, name = next((each for each in ((1e6, "ms"), (1e3, "µs")) if unit == "ns" and value >= each[0]), (1, unit))
    return f"{short(value / scale)} {name}"


def ours(row):
    return next((each for each in row["contenders"] if each["role"] == "ours"), None)


def best(row, roles=("dispatch", "peer")):
    """The fastest contender of these roles, if there is one."""
    others = [each for each in row["contenders"] if each["role"] in roles]
    return (max if row["isMost"] else min)(others, key=lambda each: each["median"], default=None)


def of(report):
    """The chart of a run."""
    found = {row["id"]: row for row in report["rows"]}
    rows = []
    for id, label in CHOSEN.items():
        row = found[id]
        if not (one := ours(row)["median"]):
            raise Refused(f"{id}: our figure is 0: nothing to divide by")
        compared = [(kind, name or each["name"], each["median"] / one)
                    for kind, name, each in [("dispatch", "Dispatch", best(row, ["dispatch"])), ("other", None, best(row, ["peer"]))] if each]  # fmt: skip
        rows.append((label, legible(one, row["unit"]), compared))
    machine = report["machine"]
    caption = f"{machine['processor']}, {machine['processors']} processors (virtual), {machine['system']}, Linux {machine['kernel']}, Swift {machine['swift']}; {machine['date'][:10]}"
    return draw(rows, caption)
