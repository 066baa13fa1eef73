#!/usr/bin/env python3
"""drawn.py FOLDER HARNESS - writes HARNESS: the pages with drawings that show a step of a model, and a script that steps
through the maps that belong to them.

drawn.py --judge DOM - what happened in the browser (its --dump-dom of HARNESS): at each step the drawing has the numbers,
words and thicknesses of that row of the map, some of which change; back at its first step it is what it was."""
import html
import pathlib
import sys

TOLERANCE = 0.02  # of an attribute: pages hold five digits of a weight

SCRIPT = """
const lines = [], say = (good, text) => lines.push(`${good ? "fine" : "WRONG"}: ${text}`);
const next = figure => [...figure.querySelectorAll(".controls button")].find(button => button.textContent.startsWith("Step \\u2192"));
const all = [...document.querySelectorAll("iframe")];
function numbers(svg) { /* of all attributes that a step may change */
    return [...svg.querySelectorAll("line, polygon")].flatMap(part => ["x2", "y2", "stroke-width", "points"]
        .flatMap(key => (part.getAttribute(key) || "").split(/[ ,]/).map(Number)));
}
const texts = (svg, name) => [...svg.querySelectorAll(`.${name} text`)].map(part => part.textContent);
function differences(svg, map, row) {
    const wrong = [], data = JSON.parse(map.querySelector("script.map").textContent), weights = data.weights[row];
    const same = (name, wanted) => {
        const found = texts(svg, name).join();
        if (found !== wanted.join()) wrong.push(`${name}: ${found} instead of ${wanted.join()}`);
    };
    same("weight", weights.map(weight => weight.toFixed(2)));
    same("written", [data.rows[row]]);
    same("before", [row > 0 ? data.rows[row - 1] : "(begin)"]);
    if (!texts(svg, "count").includes(`d${row + 1}`)) wrong.push(`no state d${row + 1}`);
    svg.querySelectorAll(".line").forEach((part, c) => {
        const hidden = part.getAttribute("visibility") === "hidden";
        if (hidden !== (weights[c] === 0)) wrong.push(`line ${c} is ${hidden ? "hidden" : "visible"}`);
        part.querySelectorAll("line").forEach(line => {
            if (Math.abs(line.getAttribute("stroke-width") - (0.5 + 7 * weights[c])) > %g) wrong.push(`thickness of line ${c}`);
        });
    });
    return wrong;
}
function play(name, page, figure) {
    const data = JSON.parse(figure.querySelector("script.steps").textContent), svg = figure.querySelector("svg");
    const map = [...page.querySelectorAll("script.map")][data.map].parentElement;
    const rows = JSON.parse(map.querySelector("script.map").textContent).rows.length;
    const text = svg.textContent, before = numbers(svg), seen = new Set();
    for (let row = 0; row < rows; row++) {
        next(map).click();
        differences(svg, map, row).forEach(wrong => say(false, `${name} step ${row + 1}: ${wrong}`));
        seen.add(texts(svg, "weight").join());
        if (row !== data.shown) continue;
        if (svg.textContent !== text) say(false, `${name}: the text of its first step was ${text}, and is ${svg.textContent}`);
        const after = numbers(svg), furthest = Math.max(...after.map((x, i) => Math.abs(x - before[i])));
        if (after.length !== before.length || !(furthest < %g)) say(false, `${name}: its first step moved by ${furthest}`);
    }
    if (seen.size < 2) say(false, `${name}: no step changes a number`);
    [...map.querySelectorAll(".controls button")].find(button => button.textContent === "All").click();
    next(figure).click(); /* from the row that the drawing shows */
    differences(svg, map, data.shown + 1).forEach(wrong => say(false, `${name} by its own button: ${wrong}`));
    if (map.play.step !== data.shown + 1) say(false, `${name}: the map is at ${map.play.step}`);
    map.querySelector(".row button").focus();
    map.querySelector(".row button").dispatchEvent(new Event("focus")); /* the window has no focus */
    differences(svg, map, 0).forEach(wrong => say(false, `${name} at the word with the focus: ${wrong}`));
    const slider = map.querySelector("input[type=range]");
    if (slider) {
        slider.value = 0;
        slider.dispatchEvent(new Event("input"));
        const found = texts(svg, "weight"), wanted = JSON.parse(map.querySelector("script.map").textContent).weights[0];
        const picked = wanted.map(weight => (weight === Math.max(...wanted) ? "1.00" : "0.00"));
        say(found.join() === picked.join(), `${name}: weights at temperature 0: ${found.join(", ")}`);
    }
    say(true, `${name}: ${figure.querySelector("figcaption").textContent}: ${rows} steps, ${seen.size} of them differ`);
}
onload = () => {
    try {
        for (const frame of all)
            frame.contentDocument.querySelectorAll("script.steps").forEach(part =>
                play(frame.title, frame.contentDocument, part.parentElement));
    } catch (error) { say(false, error.stack); }
    document.body.textContent = lines.join("\\n");
};
""" % (TOLERANCE, TOLERANCE)


def harness(folder):
    frames = "".join(f'<iframe title="{page.name}" width="800" height="900" srcdoc="{html.escape(page.read_text())}">'
                     "</iframe>\n" for page in sorted(folder.glob("*.html")) if 'class="steps"' in page.read_text())
    return f'<!DOCTYPE html><meta charset="utf-8"><body>{frames}<script>{SCRIPT}</script></body>'


def judge(dom):
    lines = [line for line in html.unescape(dom).replace("<body>", "\n").replace("</body>", "\n").splitlines()
             if line.startswith(("fine: ", "WRONG"))]
    print("\n".join(lines))
    pages = {line.split(":")[1] for line in lines if line.startswith("fine: ")}
    return 1 if len(pages) < 2 or any(line.startswith("WRONG") for line in lines) else 0


def main(arguments):
    if arguments[0] == "--judge":
        return judge(pathlib.Path(arguments[1]).read_text())
    pathlib.Path(arguments[1]).write_text(harness(pathlib.Path(arguments[0])))
    return 0


sys.exit(main(sys.argv[1:]))
