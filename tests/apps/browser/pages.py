#!/usr/bin/env python3
"""pages.py WHAT FOLDER-OR-PAGE HARNESS - writes HARNESS, a page with which a browser tests pages of lessons. WHAT is
measure: all pages of a folder; drawn: those of a folder with drawings that show a step of a model; play: one page.

pages.py WHAT --judge DOM [FLAGS] - what happened in the browser (its --dump-dom of HARNESS; FLAGS: those of its JavaScript)."""
import html
import pathlib
import re
import sys

# measure: every link leads to a page that is there or to https://, and nothing is loaded from outside. At 360 and 1200
# pixels no page is wider than the window, every picture and table is within it, formulas have a size, text in pictures
# stays large enough to read, and text stands out from its background.
WIDTHS = (360, 1200)
SMALLEST = 6.5  # pixels of a letter's height in a picture at 360
CHART = 10  # the same in a chart, whose letters do not shrink with it
CONTRAST = 4.5  # WCAG 2.1, level AA

MEASURE = """
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


def measuring(folder):
    frames = "".join(f'<iframe title="{page.name}" width="{width}" height="900" style="border:0" srcdoc="'
                     f'{html.escape(page.read_text())}"></iframe>\n'
                     for page in sorted(folder.glob("*.html")) for width in WIDTHS)
    return f'<!DOCTYPE html><meta charset="utf-8"><body>{frames}<script>{MEASURE}</script></body>'


def judge_measures(dom):
    lines = html.unescape(dom).splitlines()
    print("\n".join(line for line in lines if " read, " in line or "WRONG" in line))
    read = sum(" read, " in line for line in lines)
    return 1 if any("WRONG" in line for line in lines) or read < 2 * len(WIDTHS) else 0


# drawn: a script steps through the maps that belong to the drawings. At each step the drawing has the numbers, words and
# thicknesses of that row of the map, some of which change; back at its first step it is what it was.
ATTRIBUTES = 0.02  # of an attribute: pages hold five digits of a weight

STEPS = """
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
""" % (ATTRIBUTES, ATTRIBUTES)


def stepping(folder):
    frames = "".join(f'<iframe title="{page.name}" width="800" height="900" srcdoc="{html.escape(page.read_text())}">'
                     "</iframe>\n" for page in sorted(folder.glob("*.html")) if 'class="steps"' in page.read_text())
    return f'<!DOCTYPE html><meta charset="utf-8"><body>{frames}<script>{STEPS}</script></body>'


def judge_drawings(dom):
    lines = [line for line in html.unescape(dom).replace("<body>", "\n").replace("</body>", "\n").splitlines()
             if line.startswith(("fine: ", "WRONG"))]
    print("\n".join(lines))
    pages = {line.split(":")[1] for line in lines if line.startswith("fine: ")}
    return 1 if len(pages) < 2 or any(line.startswith("WRONG") for line in lines) else 0


# play: a script plays with the page's first model as a reader would. The library in the page translates the sentence of the
# page as the program did, with the same weights of every head and layer, another sentence with other words, and names a
# word that it does not know; words, steps and keys move what is shown.
WEIGHTS = 1e-3  # of a weight: pages round to 1e-4, and the kernels of a page round products by themselves

PLAY = """
const lines = [], say = (good, text) => lines.push(`${good ? "fine" : "WRONG"}: ${text}`);
const wait = async test => { for (let i = 0; i < 400 && !test(); i++) await new Promise(done => setTimeout(done, 25)); };
(async () => {
    const play = [...document.querySelectorAll("figure")].map(figure => figure.play).find(play => play && play.model);
    const before = play.target.join(" "), form = play.input.closest("form");
    const ask = async text => {
        play.input.value = text;
        play.answer.textContent = "";
        form.requestSubmit();
        await wait(() => play.answer.textContent !== "");
        return play.answer.textContent;
    };
    const first = await ask(play.input.value);
    say(first.includes("computed in this page"), `translates: ${first}`);
    const library = await play.engine;
    lines.push(`SIMD128: ${library.vectors}`);
    say(play.target.join(" ") === before, "the translation is that of the program");
    let distance = 0, compared = 0;
    for (const which of ["encoder", "decoder", "cross"])
        for (let layer = 0; layer < play.model.layers[which === "encoder" ? "encoder" : "decoder"]; layer++)
            for (let head = 0; head < play.model.heads; head++) {
                play.which.value = which;
                play.layer.value = layer;
                play.head.value = head;
                play.change();
                play.model.weights[which][layer][head].forEach((weight, i) => {
                    distance = Math.max(distance, Math.abs(weight - play.weights.flat()[i]));
                    compared++;
                });
            }
    say(compared > 100 && distance < %g, `${compared} weights differ by at most ${distance.toExponential(1)}`);
    play.which.value = "cross"; play.head.value = -1; play.change();
    const another = await ask("Anna see Peter in the park today");
    say(play.target.join(" ") !== before && another.includes("computed"), `another sentence: ${another}`);
    say(play.rows.length === play.target.length + 1 && play.columns.length === 8, "the lists are those of the sentence");
    play.weights.forEach((row, r) => {
        const sum = row.reduce((a, b) => a + b, 0);
        if (Math.abs(sum - 1) > 1e-4) say(false, `row ${r} sums to ${sum}`);
    });
    say((await ask("Tom chase Godzilla")).includes('does not know "Godzilla"'), "an unknown word is named");
    const step = play.panel.querySelectorAll(".controls button"), next = [...step].find(b => b.textContent.startsWith("Step \u2192"));
    next.click();
    say(play.step === 0 && play.left[1].classList.contains("later"), "a step hides what is not written yet");
    next.click();
    say(play.step === 1 && play.report.textContent.startsWith(play.rows[1] + " reads"), play.report.textContent);
    play.left[0].focus();
    say(play.left[0].classList.contains("now") && play.right.some(word => word.dataset.weight.includes("%%")), "the focus shows a row");
    document.body.textContent = lines.join("\\n");
})().catch(error => { document.body.textContent = `WRONG: ${error.stack}`; });
""" % WEIGHTS


def playing(page):
    return page.read_text().replace("</body>", f'<script class="test">{PLAY}</script></body>')


def judge_play(dom, flags):
    """Also whether the library has vectors, unless the flags of the browser forbid them."""
    vectors = "SIMD128: " + ("false" if flags else "true")
    if vectors not in html.unescape(dom):
        print(f"WRONG: not {vectors}")
        return 1
    lines = [line for line in html.unescape(dom).replace("<body>", "\n").replace("</body>", "\n").splitlines()
             if line.startswith(("fine: ", "WRONG"))]
    print("\n".join(lines))
    if len(lines) < 9:
        print(f"WRONG: {len(lines)} lines")
    return 1 if any(line.startswith("WRONG") for line in lines) or len(lines) < 9 else 0


def main(what, arguments):
    if arguments[0] == "--judge":
        dom = pathlib.Path(arguments[1]).read_text()
        return {"measure": judge_measures, "drawn": judge_drawings, "play": judge_play}[what](dom, *arguments[2:])
    given, wrong = pathlib.Path(arguments[0]), []
    if what == "measure":
        wrong = list(complaints(given))
        print("\n".join(wrong))
    pathlib.Path(arguments[1]).write_text({"measure": measuring, "drawn": stepping, "play": playing}[what](given))
    return 1 if wrong else 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
