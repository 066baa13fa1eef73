/* play.js - the script of a lesson's page. Below each map of weights it draws lines from the words of the rows to the
   words of the columns, follows the pointer and the focus, and steps through the rows, together with the drawing of the
   model that made the map. Some maps have a slider. One has a model, which the library, compiled to WebAssembly, runs here. The pages can be read without this script. */
"use strict";
(() => {
const ROW = 34, GAP = 120; /* pixels: height of a word, and between the two lists of words */
const set = (part, attributes) => { for (const key in attributes) part.setAttribute(key, attributes[key]); };
const make = (name, parent, text, attributes) => {
    const part = document.createElement(name);
    if (text !== undefined) part.textContent = text;
    set(part, attributes);
    if (parent) parent.append(part);
    return part;
};
const draw = (name, parent, attributes) => {
    const part = document.createElementNS("http://www.w3.org/2000/svg", name);
    set(part, attributes);
    parent.append(part);
    return part;
};
/* Changes the thickness of a line and of the arrow after it, whose head svg_arrow made. */
const arrow = (before, line, head, thickness) => {
    const [x1, y1] = ["x1", "y1"].map(key => +line.getAttribute(key)), {x, y} = head.points.getItem(0);
    const length = Math.hypot(x - x1, y - y1), half = 3 + 0.75 * thickness;
    const dx = half * (x - x1) / length, dy = half * (y - y1) / length, x2 = x - 2 * dx, y2 = y - 2 * dy;
    set(before, {"stroke-width": thickness});
    set(line, {x2, y2, "stroke-width": thickness});
    set(head, {points: `${x},${y} ${x2 + dy},${y2 - dx} ${x2 - dy},${y2 + dx}`});
};
const percent = weight => Math.round(100 * weight) + " %";
const bytes_of = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));

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
        this.drawings = [];
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
        this.drawings.forEach(drawing => drawing.show());
    }
    /* Frames the row or column in the picture, which shows the weights of the page as it was written. */
    frame(now) {
        const picture = this.figure.querySelector(":scope > svg"), [x, y, cell] = this.data.at;
        if (this.box) this.box.remove();
        this.box = null;
        if (this.differs || (now === null && this.column === null)) return;
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
        this.report.textContent = `${this.rows[now]} reads ${read.map(x => `${x[1]} ${percent(x[0])}`).join(", ")}.` +
            (this.candidates ? " Candidates: " + this.candidates[now].join(", ") + "." : "");
    }
}

/* The drawing of a model, which shows one row of a map: that of the step, or that which is pointed at. */
class Drawing {
    /* data: the row in the drawing, shown; and of each row scores and probabilities, if it has them */
    constructor(figure, player, data) {
        Object.assign(this, data, {figure, player});
        this.counts = this.texts("count").map(text => [text, text.textContent]);
        const line = make("div", make("div", figure, undefined, {class: "play"}), undefined, {class: "controls"});
        const button = (text, by) => { make("button", line, text, {type: "button"}).onclick = () => this.move(by); };
        button("\u2190 Step back", -1);
        button("Step \u2192", 1);
        this.place = make("span", line);
        player.drawings.push(this);
        this.tell(this.shown);
    }
    parts(name) { return [...this.figure.querySelectorAll(`:scope > svg .${name}`)]; }
    texts(name) { return this.parts(name + " text"); }
    /* The first step leaves from the row in the drawing. */
    move(by) {
        if (this.player.step === null) this.player.step = this.shown;
        this.player.move(by);
    }
    tell(row) { this.place.textContent = `Step ${row + 1} of ${this.player.rows.length}`; }
    show() {
        const {rows, weights, row: pointed, step} = this.player, row = pointed ?? step ?? this.shown;
        const write = (name, text) => this.texts(name).forEach((part, c) => { part.textContent = text(c); });
        write("weight", c => weights[row][c].toFixed(2));
        write("score", c => (Math.abs(this.scores[row][c]) < 0.05 ? 0 : this.scores[row][c]).toFixed(1));
        write("written", () => rows[row]);
        write("before", () => row > 0 ? rows[row - 1] : "(begin)");
        write("loss", () => {
            const p = this.probabilities[row];
            return `\u2212log ${p.toFixed(3)} = ${(-Math.log(p)).toFixed(3)}`;
        });
        this.counts.forEach(([part, text]) => { part.textContent = text.replace(/\d+/, k => +k + row - this.shown); });
        this.parts("line").forEach((part, c) => {
            part.setAttribute("visibility", weights[row][c] > 0 ? "visible" : "hidden");
            arrow(...part.children, 0.5 + 7 * weights[row][c]);
        });
        this.tell(row);
    }
}

/* ---- a map whose model runs in the page ---- */
const BEGIN = 1, END = 2; /* RAPT_TOKEN_ */
const ATTENTIONS = ["encoder", "decoder", "cross"]; /* the order of rapt_weights */

/* The library, compiled to WebAssembly, with one model. */
class Library {
    /* Opens the first of the compressed libraries that the browser can run: not every one has SIMD128. */
    static async open(model, libraries) {
        let reason;
        for (let i = 0; i < libraries.length; i++) {
            try {
                const bytes = new Blob([libraries[i]]).stream().pipeThrough(new DecompressionStream("gzip"));
                const library = await Library.start(model, await new Response(bytes).arrayBuffer());
                library.vectors = i === 0;
                return library;
            } catch (error) { reason = error; }
        }
        throw reason;
    }
    static async start(model, code) {
        const stubs = new Proxy({}, {get: () => () => 52}); /* ENOSYS: there are no files, clocks or arguments */
        const {instance} = await WebAssembly.instantiate(code, {wasi_snapshot_preview1: stubs});
        const library = new Library();
        library.call = instance.exports;
        library.call._initialize();
        const parameters = bytes_of(model.parameters), tokens = model.longest;
        const at = size => {
            const address = library.call.module_memory(size);
            if (address === 0) throw new Error("out of memory");
            return address;
        };
        const fields = at(8 * model.fields.length), numbers = at(parameters.length);
        library.source = at(4 * tokens);
        library.target = at(4 * (tokens + 1));
        library.result = at(8);
        library.rows = at(4 * tokens * tokens);
        new Float64Array(library.memory(), fields, model.fields.length).set(model.fields);
        new Uint8Array(library.memory(), numbers, parameters.length).set(parameters);
        library.check(library.call.module_open(fields, numbers));
        return library;
    }
    memory() { return this.call.memory.buffer; }
    ints(at, count) { return new Int32Array(this.memory(), at, count); }
    check(status) {
        if (status === 0) return;
        const bytes = new Uint8Array(this.memory(), this.call.module_message());
        throw new Error(new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0))));
    }
    translate(source) {
        this.ints(this.source, source.length).set(source);
        this.check(this.call.module_translate(this.source, source.length, this.target + 4, this.result));
        const count = this.ints(this.result, 1)[0];
        this.ints(this.target, 1)[0] = BEGIN;
        this.check(this.call.module_read(this.source, source.length, this.target, count + 1, this.result));
        return {target: [...this.ints(this.target + 4, count)], logits: this.ints(this.result, 1)[0]};
    }
    probabilities(logits, row, words) {
        const scores = new Float32Array(this.memory(), logits + 4 * row * words, words), top = Math.max(...scores);
        const powers = [...scores].map(x => Math.exp(x - top)), sum = powers.reduce((a, b) => a + b, 0);
        return powers.map(x => x / sum);
    }
    weights(which, layer, head, rows, columns) {
        this.check(this.call.module_weights(ATTENTIONS.indexOf(which), layer, head, this.rows));
        return Array.from({length: rows},
                          (_, r) => [...new Float32Array(this.memory(), this.rows + 4 * r * columns, columns)]);
    }
}

class ModelPlayer extends Player {
    constructor(figure) {
        super(figure);
        this.model = JSON.parse(figure.querySelector("script.model").textContent);
        this.source = this.model.source;
        this.target = this.model.target;
        this.choose();
        this.ask();
        this.change();
    }
    name(id) { return id === END ? "(end)" : this.model.words[id]; }
    choose() {
        const line = make("div", this.panel, undefined, {class: "controls"});
        const select = (label, options) => {
            const box = make("select", make("label", line, label + " "));
            options.forEach(([value, text]) => make("option", box, text, {value}));
            box.onchange = () => this.change();
            return box;
        };
        const count = n => Array.from({length: n}, (_, i) => [i, i + 1]);
        this.which = select("Attention", [["cross", "decoder to encoder"], ["encoder", "encoder to itself"],
                                          ["decoder", "decoder to itself"]]);
        this.layer = select("layer", count(Math.max(this.model.layers.encoder, this.model.layers.decoder)));
        this.head = select("head", [[-1, "mean"], ...count(this.model.heads)]);
        this.layer.value = this.model.layers.decoder - 1;
        this.panel.prepend(line);
    }
    ask() {
        const form = make("form", null, undefined, {class: "controls"});
        const label = make("label", form, "Your own sentence ");
        const code = [...document.querySelectorAll("script.rapt")].map(part => bytes_of(part.textContent));
        this.input = make("input", label, undefined, {type: "text", size: 36, autocomplete: "off", spellcheck: "false",
                                                      autocapitalize: "off"});
        this.input.value = this.source.slice(0, -1).map(id => this.name(id)).join(" ");
        const button = make("button", form, "Translate", {type: "submit"});
        this.answer = make("p", null, "", {class: "answer", role: "status"});
        this.panel.prepend(form, this.answer);
        form.onsubmit = event => { event.preventDefault(); this.translate(); };
        if (code.length > 0) {
            this.engine = Library.open(this.model, code);
            this.engine.then(() => this.tell("computed when this page was written"),
                              error => this.tell(`computed when this page was written; not here: ${error.message}`));
        } else {
            this.input.disabled = button.disabled = true;
        }
        this.tell(code.length > 0 ? "computed when this page was written" :
                  "computed when this page was written; it was built without WebAssembly and knows only this sentence");
    }
    tell(how) {
        this.answer.textContent = `${this.target.map(id => this.name(id)).join(" ") || "(nothing)"}\u2002(${how})`;
    }
    /* Returns the ids of a sentence with its end, or null after a message. */
    ids(text) {
        const known = this.model.words.map((word, id) => [word, id]).filter(([word, id]) => this.model.reads[id]);
        const ids = [];
        for (const word of text.replace(/[.!?,]/g, " ").split(/\s+/).filter(Boolean)) {
            const found = known.find(([name]) => name.toLowerCase() === word.toLowerCase());
            if (!found) {
                this.answer.textContent = `The model does not know "${word}". It reads: ` +
                    known.map(([name]) => name).join(", ") + ".";
                return null;
            }
            ids.push(found[1]);
        }
        if (ids.length === 0 || ids.length > this.model.most) {
            this.answer.textContent = `Write 1 to ${this.model.most} words.`;
            return null;
        }
        return [...ids, END];
    }
    async translate() {
        const source = this.ids(this.input.value);
        if (!source || !this.engine) return;
        try {
            const library = await this.engine, start = performance.now();
            const {target, logits} = library.translate(source), words = this.model.words.length;
            this.source = source;
            this.target = target;
            this.computed = library;
            this.probable = [...target, END].map((id, t) => {
                const p = library.probabilities(logits, t, words);
                return p.map((x, i) => [x, i]).sort((a, b) => b[0] - a[0]).slice(0, 3)
                    .map(([x, i]) => `${this.name(i)} ${percent(x)}`);
            });
            this.change();
            this.tell(`computed in this page in ${Math.max(1, Math.round(performance.now() - start))} ms`);
        } catch (error) {
            this.answer.textContent = `This sentence cannot be translated: ${error.message}`;
        }
    }
    /* Shows the chosen attention for the sentence that was translated last. */
    change() {
        const which = this.which.value, half = which === "encoder" ? "encoder" : "decoder";
        const layers = this.model.layers[half], layer = Math.min(+this.layer.value, layers - 1);
        [...this.layer.options].forEach(option => { option.disabled = +option.value >= layers; });
        this.layer.value = layer;
        const sources = this.source.map(id => this.name(id)), targets = [...this.target, END].map(id => this.name(id));
        const read = ["(begin)", ...targets.slice(0, -1)];
        const rows = which === "encoder" ? sources : targets, columns = which === "decoder" ? read : sources;
        this.candidates = this.computed && which !== "encoder" ? this.probable : null;
        this.differs = this.computed || which !== "cross" || layer !== layers - 1 || this.head.value !== "-1";
        this.show(rows, columns, this.computed
            ? this.computed.weights(which, layer, +this.head.value, rows.length, columns.length)
            : this.before(which, layer, +this.head.value, columns.length));
    }
    /* Returns the weights of a head, or their mean, that were computed when the page was written. */
    before(which, layer, head, columns) {
        const heads = this.model.weights[which][layer];
        const flat = head >= 0 ? heads[head]
                               : heads[0].map((_, i) => heads.reduce((sum, one) => sum + one[i], 0) / heads.length);
        return Array.from({length: flat.length / columns}, (_, r) => flat.slice(r * columns, (r + 1) * columns));
    }
}

const players = [];
document.querySelectorAll("figure").forEach(figure => {
    if (figure.querySelector("script.model")) figure.play = new ModelPlayer(figure);
    else if (figure.querySelector("script.map")) figure.play = new Player(figure);
    if (figure.play) players.push(figure.play);
});
document.querySelectorAll("script.steps").forEach(part => {
    const data = JSON.parse(part.textContent);
    new Drawing(part.parentElement, players[data.map], data);
});
})();
