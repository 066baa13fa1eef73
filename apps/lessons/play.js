/* play.js - the script of a lesson's page. Below each map of weights it draws lines from the words of the rows to the
   words of the columns, follows the pointer and the focus, and steps through the rows. Some maps have a slider.
   The pages can be read without this script. */
"use strict";
(() => {
const ROW = 34, GAP = 120; /* pixels: height of a word, and between the two lists of words */
const make = (name, parent, text, attributes) => {
    const part = document.createElement(name);
    if (text !== undefined) part.textContent = text;
    for (const key in attributes) part.setAttribute(key, attributes[key]);
    if (parent) parent.append(part);
    return part;
};
const draw = (name, parent, attributes) => {
    const part = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) part.setAttribute(key, attributes[key]);
    parent.append(part);
    return part;
};
const percent = weight => Math.round(100 * weight) + " %";

/* Returns the softmax of scores that are divided by divisors[r] in row r. The logarithms of the weights serve as scores:
   they differ from them by a constant, which cancels in the softmax. With a divisor of 0 only the largest is left. */
function soften(weights, divisors) {
    return weights.map((row, r) => {
        const top = Math.max(...row);
        const powers = row.map(w => divisors[r] > 0 ? Math.pow(w / top, 1 / divisors[r]) : +(w === top));
        const sum = powers.reduce((a, b) => a + b, 0);
        return powers.map(p => p / sum);
    });
}

/* Two lists of words below a map, with lines between them as thick as the weights. */
class Player {
    constructor(figure) {
        this.figure = figure;
        this.data = JSON.parse(figure.querySelector("script.map").textContent);
        this.panel = make("div", figure, undefined, {class: "play"});
        this.controls = make("div", this.panel, undefined, {class: "controls"});
        this.words = make("div", this.panel, undefined, {class: "words"});
        this.report = make("p", this.panel, "", {class: "report", "aria-live": "polite"});
        this.button("\u2190 Step back", () => this.move(-1));
        this.button("Step \u2192", () => this.move(1));
        this.button("All", () => this.move(0));
        if (this.data.slider) this.slide();
        this.show(this.data.rows, this.data.columns, this.data.weights);
    }
    button(text, act) {
        make("button", this.controls, text, {type: "button"}).onclick = act;
    }
    slide() {
        const root = this.data.slider === "root";
        const label = make("label", this.controls, root ? "scores divided by n to the power of " : "temperature ");
        const input = make("input", label, undefined, root
            ? {type: "range", min: 0, max: 1, step: 0.05, value: 0.5}
            : {type: "range", min: 0, max: 4, step: 0.05, value: 1});
        const value = make("output", label);
        input.oninput = () => {
            const at = +input.value;
            value.textContent = at.toFixed(2) + (root ? at === 0.5 ? " (1/\u221an)" : "" : at === 0 ? " (hard)" : "");
            this.weights = soften(this.given, this.given.map((row, r) => root ? Math.pow(this.data.n[r], at - 0.5) : at));
            this.lines();
        };
        this.slid = input.oninput;
    }
    show(rows, columns, weights) {
        this.given = weights;
        this.weights = weights;
        this.rows = rows;
        this.columns = columns;
        this.step = null; /* the row that is being written; the rows after it are hidden. null: all rows are shown */
        this.row = this.column = null; /* the row or column that is pointed at */
        this.words.textContent = "";
        const height = ROW * Math.max(rows.length, columns.length);
        this.left = this.list(rows, "row");
        this.svg = draw("svg", this.words, {viewBox: `0 0 ${GAP} ${height}`, width: GAP, height, "aria-hidden": true,
                                            preserveAspectRatio: "none"});
        this.right = this.list(columns, "column");
        if (this.slid) this.slid(); else this.lines();
    }
    list(names, side) {
        const list = make("div", this.words, undefined, {class: side});
        return names.map((name, i) => {
            const word = make("button", list, name, {type: "button"});
            word.onmouseenter = word.onfocus = word.onclick = () => this.point(side, i);
            word.onmouseleave = word.onblur = () => this.point(side, null);
            return word;
        });
    }
    point(side, i) {
        this.row = side === "row" ? i : null;
        this.column = side === "column" ? i : null;
        this.lines();
    }
    move(by) {
        const last = this.rows.length - 1;
        if (by === 0) this.step = null;
        else if (this.step === null) this.step = by > 0 ? 0 : last;
        else this.step = Math.min(last, Math.max(0, this.step + by));
        this.row = this.column = null;
        this.lines();
    }
    /* Returns the row that is pointed at, or else the row of the step, or null. */
    now() { return this.row !== null ? this.row : this.column === null ? this.step : null; }
    lines() {
        const now = this.now();
        this.svg.textContent = "";
        this.weights.forEach((row, r) => row.forEach((weight, c) => {
            const hidden = this.step !== null && r > this.step;
            const chosen = now !== null ? r === now : this.column === null || c === this.column;
            if (weight < 0.01 || hidden) return;
            draw("line", this.svg, {x1: 0, y1: ROW * (r + 0.5), x2: GAP, y2: ROW * (c + 0.5),
                                    "stroke-width": 0.5 + 9 * weight, opacity: chosen ? 0.85 : 0.12});
        }));
        this.left.forEach((word, r) => {
            word.classList.toggle("now", r === now);
            word.classList.toggle("later", this.step !== null && r > this.step);
            word.dataset.weight = this.column !== null ? percent(this.weights[r][this.column]) : "";
        });
        this.right.forEach((word, c) => {
            word.classList.toggle("now", c === this.column);
            word.dataset.weight = now !== null ? percent(this.weights[now][c]) : "";
        });
        this.frame(now);
        this.say(now);
    }
    /* Frames the row or column in the picture. */
    frame(now) {
        const picture = this.figure.querySelector(":scope > svg"), [x, y, cell] = this.data.at;
        if (this.box) this.box.remove();
        this.box = null;
        if (now === null && this.column === null) return;
        this.box = draw("rect", picture, now !== null
            ? {x, y: y + cell * now, width: cell * this.columns.length, height: cell}
            : {x: x + cell * this.column, y, width: cell, height: cell * this.rows.length});
        this.box.setAttribute("class", "frame");
    }
    say(now) {
        if (now === null) {
            this.report.textContent = this.column === null ? "Point at a word, or step." :
                `Read by: ${this.rows.map((name, r) => `${name} ${percent(this.weights[r][this.column])}`).join(", ")}.`;
            return;
        }
        const row = this.weights[now], read = this.columns.map((name, c) => [row[c], name]).filter(x => x[0] >= 0.05);
        read.sort((a, b) => b[0] - a[0]);
        this.report.textContent = `${this.rows[now]} reads ${read.map(x => `${x[1]} ${percent(x[0])}`).join(", ")}.`;
    }
}

document.querySelectorAll("figure").forEach(figure => {
    if (figure.querySelector("script.map")) figure.play = new Player(figure);
});
})();
