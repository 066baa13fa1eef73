#!/usr/bin/env python3
"""pages.py FOLDER HARNESS - the pages of lessons: every link leads to a page that is there or to https://, nothing is
loaded from outside; writes HARNESS, a page in which a browser measures them.

pages.py --judge DOM - what the browser measured (its --dump-dom of HARNESS): at 360 and 1200 pixels no page
is wider than the window, every picture and table is within it, formulas have a size, text in pictures
stays large enough to read, and text stands out from its background."""
import html
import pathlib
import re
import sys

WIDTHS = (360, 1200)
SMALLEST = 6.5  # pixels of a letter's height in a picture at 360
CHART = 10  # the same in a chart, whose letters do not shrink with it
CONTRAST = 4.5  # WCAG 2.1, level AA

SCRIPT = """
const results = [];
const light = color => {
    const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
        .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
function behind(part, view) { /* the first background that covers */
    for (; part; part = part.parentElement) {
        const color = view.getComputedStyle(part).backgroundColor;
        if (!/, 0\\)|transparent/.test(color)) return color;
    }
    const scheme = view.getComputedStyle(view.document.documentElement).colorScheme;
    const dark = scheme.includes("dark") && view.matchMedia("(prefers-color-scheme: dark)").matches;
    return dark ? "rgb(18, 18, 18)" : "rgb(255, 255, 255)";
}
function contrast(part, view) {
    const two = [light(view.getComputedStyle(part).color), light(behind(part, view))].sort((a, b) => b - a);
    return (two[0] + 0.05) / (two[1] + 0.05);
}
function measure(frame, name, width) {
    const page = frame.contentDocument, root = page.documentElement;
    const say = text => results.push(`${name} ${width}: ${text}`);
    if (root.scrollWidth > width) say(`WRONG ${root.scrollWidth} pixels wide`);
    for (const part of page.querySelectorAll("svg, p, h1, h2, figure, nav, li, input, select, .scroll, .formula"))
        if (part.getBoundingClientRect().right > width + 1)
            say(`WRONG ${part.tagName} ends at ${part.getBoundingClientRect().right}`);
    for (const formula of page.querySelectorAll("math"))
        if (formula.getBoundingClientRect().width < 5) say("WRONG a formula without size");
    const view = frame.contentWindow;
    for (const part of page.querySelectorAll("p, p b, h1, h2, a, td, th, figcaption, i"))
        if (contrast(part, view) < %s) say(`WRONG ${part.tagName} has a contrast of ${contrast(part, view).toFixed(1)}`);
    let smallest = 99;
    for (const text of page.querySelectorAll("svg text")) {
        const svg = text.closest("svg"), scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        const height = scale * parseFloat(view.getComputedStyle(text).fontSize);
        if (!text.closest("figure.chart")) smallest = Math.min(smallest, height);
        else if (height < %s) say(`WRONG chart: letters of ${height.toFixed(1)} pixels`);
        else if (text.getBoundingClientRect().right > width)
            say(`WRONG chart: ${text.textContent} is cut`);
    }
    if (smallest < %s) say(`WRONG letters of ${smallest.toFixed(1)} pixels`);
    say(`read, ${page.querySelectorAll("svg").length} pictures, ${page.querySelectorAll("math").length} formulas`);
}
onload = () => {
    for (const frame of document.querySelectorAll("iframe"))
        measure(frame, frame.title, parseInt(frame.width));
    document.body.textContent = results.join("\\n");
};
""" % (CONTRAST, CHART, SMALLEST)


def links(text):
    return [link for link in re.findall(r'href="([^"]*)"', text) if not link.startswith("https://")]


def complaints(folder):
    pages = sorted(folder.glob("*.html"))
    reached = {"index.html"}
    for page in pages:
        text = page.read_text()
        reached |= set(links(text))
        yield from (f"{page.name}: {link}: no such page" for link in links(text) if not (folder / link).is_file())
        yield from (f"{page.name}: loads {found}" for found in re.findall(r'(?:src|srcset|url)\s*[=(]\s*["\']?[^"\' >]+', text))
    yield from (f"{page.name}: no page links to it" for page in pages if page.name not in reached)


def harness(folder):
    frames = "".join(f'<iframe title="{page.name}" width="{width}" height="900" style="border:0" srcdoc="'
                     f'{html.escape(page.read_text())}"></iframe>\n'
                     for page in sorted(folder.glob("*.html")) for width in WIDTHS)
    return f'<!DOCTYPE html><meta charset="utf-8"><body>{frames}<script>{SCRIPT}</script></body>'


def judge(dom):
    lines = html.unescape(dom).splitlines()
    print("\n".join(line for line in lines if " read, " in line or "WRONG" in line))
    read = sum(" read, " in line for line in lines)
    return 1 if any("WRONG" in line for line in lines) or read < 2 * len(WIDTHS) else 0


def main(arguments):
    if arguments[0] == "--judge":
        return judge(pathlib.Path(arguments[1]).read_text())
    folder = pathlib.Path(arguments[0])
    wrong = list(complaints(folder))
    print("\n".join(wrong))
    pathlib.Path(arguments[1]).write_text(harness(folder))
    return 1 if wrong else 0


sys.exit(main(sys.argv[1:]))
