#!/usr/bin/env python3
"""play.py PAGE HARNESS - writes HARNESS: the page with a script that plays with its first model as a reader would.

play.py --judge DOM FLAGS - what happened in the browser (its --dump-dom of HARNESS): the library in the page translates the
sentence of the page as the program did, with the same weights of every head and layer, another sentence with other
words, and names a word that it does not know; words, steps and keys move what is shown."""
import html
import pathlib
import sys

TOLERANCE = 1e-3  # of a weight: pages round to 1e-4, and the kernels of a page round products by themselves

SCRIPT = """
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
""" % TOLERANCE


def judge(dom, flags):
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


def main(arguments):
    if arguments[0] == "--judge":
        return judge(pathlib.Path(arguments[1]).read_text(), arguments[2])
    page = pathlib.Path(arguments[0]).read_text()
    pathlib.Path(arguments[1]).write_text(page.replace("</body>", f'<script class="test">{SCRIPT}</script></body>'))
    return 0


sys.exit(main(sys.argv[1:]))
