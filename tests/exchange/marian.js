/* marian.js - what tests do with Marian in node:

   marian.js translate MODEL VOCABULARY PRECISION [SHORTLIST] <lines
       Marian as WebAssembly (npm @browsermt/bergamot-translator, unpacked in the folder ENGINE names) translates lines
       greedily, one line each, to standard output. VOCABULARY: a file for both sides, or two separated by a comma.
       PRECISION: float32, int8shiftAll or int8shiftAlphaAll (with the file's own scales of activations), of its matrix
       products. It needs no network and no other file.
   marian.js pieces <words >F.spm
       A SentencePiece model of words and of their letters, all equally likely, as many as are a multiple of 8.
   marian.js model KIND VOCAB SEED >F.bin
       A model of Marian in its own layout, written from its definition: KIND none (self-attention) or ssru (recurrent
       decoder), with random weights.
   marian.js differ SOURCE OURS THEIRS >pairs
       Source, a tab, target of each line whose texts differ: ours, then theirs.
   marian.js explain SOURCE OURS THEIRS TIE <scores
       How many lines are equal and why others are not, by the log-probabilities of words (toy_translate score --json)
       of these pairs; exit status 1 if a line has no reason:
           tie     the first two words that differ, or a word and an end, are as likely, within TIE
           length  one text is the front of the other, and as long as a translation of its source may become */
"use strict";
const fs = require("fs");
const path = require("path");

/* ---- the engine ---- */

/* Products in 8 bits, which a browser may bring along: the engine has its own, named otherwise. */
const products = ["PrepareA", "PrepareB", "PrepareBFromTransposed", "PrepareBFromQuantizedTransposed",
    "PrepareBias", "MultiplyAndAddBias", "SelectColumnsOfB"];

function products_of(exports) {
    const all = {};
    for (const name of products) {
        const wanted = "int8" + name.replace(/[A-Z]/g, (letter) => "_" + letter.toLowerCase());
        all[wanted] = (...numbers) => exports()["int8" + name + "Fallback"](...numbers);
    }
    return all;
}

function fail(reason) {
    process.stderr.write(`marian.js: ${reason}\n`);
    process.exit(1);
}

function instantiate(worker, imports, accept) {
    const code = fs.readFileSync(path.join(worker, "bergamot-translator-worker.wasm"));
    const all = Object.assign({}, imports, { wasm_gemm: products_of(() => global.Module.asm) });
    WebAssembly.instantiate(code, all).then(({ instance }) => accept(instance)).catch(fail);
    return {};
}

function memory_of(file, alignment) {
    const bytes = fs.readFileSync(file);
    const memory = new Module.AlignedMemory(bytes.length, alignment);
    memory.getByteArrayView().set(bytes);
    return memory;
}

const options_of = (precision) => ({
    "beam-size": 1, normalize: "0", "word-penalty": 0, "max-length-break": 128, "max-length-factor": "3.0",
    "mini-batch-words": 1024, workspace: 128, "cpu-threads": 0, quiet: true, "quiet-translation": true,
    "skip-cost": true, "allow-unk": false, "gemm-precision": precision,
});

function translate_all(model, vocabularies_of, precision, shortlist) {
    const service = new Module.BlockingService({ cacheSize: 0 });
    const vocabularies = new Module.AlignedMemoryList();
    for (const file of vocabularies_of.split(",")) vocabularies.push_back(memory_of(file, 64));
    const text = Object.entries(options_of(precision)).map(([key, value]) => `${key}: ${value}\n`).join("");
    const translation = new Module.TranslationModel(text, memory_of(model, 256),
        shortlist ? memory_of(shortlist, 64) : new Module.AlignedMemory(0, 64), vocabularies, null);
    const lines = fs.readFileSync(0, "utf8").split("\n");
    if (lines[lines.length - 1] === "") lines.pop();
    for (const line of lines) { /* alone, since the longest source of a batch limits all translations */
        const input = new Module.VectorString(), wishes = new Module.VectorResponseOptions();
        input.push_back(line);
        wishes.push_back({ qualityScores: false, alignment: false, html: false });
        const out = service.translate(translation, input, wishes);
        process.stdout.write(out.get(0).getTranslatedText() + "\n");
        for (const list of [input, wishes, out]) list.delete();
    }
}

function translate(...given) {
    const worker = path.join(process.env.ENGINE, "worker");
    global.self = global;
    global.Module = {
        instantiateWasm: (imports, accept) => instantiate(worker, imports, accept),
        print: () => {},
        printErr: (text) => process.stderr.write(text + "\n"),
        onRuntimeInitialized: () => {
            try {
                translate_all(...given);
            } catch (error) {
                fail(error);
            }
        },
    };
    (0, eval)(fs.readFileSync(path.join(worker, "bergamot-translator-worker.js"), "utf8"));
}

/* ---- a SentencePiece model: protobuf ---- */

function piece(text, type) {
    const bytes = Buffer.from(text);
    const inside = Buffer.concat([Buffer.from([0x0a, bytes.length]), bytes, Buffer.from([0x18, type])]);
    return Buffer.concat([Buffer.from([0x0a, inside.length]), inside]);
}

function pieces() {
    const words = fs.readFileSync(0, "utf8").split("\n").filter((word) => word !== "");
    const letters = new Set(["\u2581"].concat(...words.map((word) => Array.from(word))));
    const all = [piece("</s>", 3), piece("<unk>", 2)];
    for (const text of new Set([...words.map((word) => "\u2581" + word), ...letters])) all.push(piece(text, 1));
    while (all.length % 8 !== 0) all.push(piece(`<filler${all.length}>`, 1)); /* products in 8 bits want that */
    process.stdout.write(Buffer.concat(all));
}

/* ---- a model: binary.cpp of Marian ---- */

const D = 32, F = 48, LAYERS = 2, HEADS = 4;

function random_of(seed) { /* in [-1, 1) */
    let state = seed >>> 0;
    return () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return (state >>> 8) / 0x800000 - 1;
    };
}

function tensors_of(kind, vocab, seed) {
    const random = random_of(seed), all = [];
    const add = (name, rows, columns, size, around = 0) => {
        const data = Float32Array.from({ length: rows * columns }, () => around + size * random());
        all.push({ name, type: 0x404, shape: [rows, columns], data: Buffer.from(data.buffer) });
    };
    const matrix = (name, rows, columns) => add(name, rows, columns, Math.sqrt(6 / (rows + columns)));
    const norm = (name) => {
        add(name + "_ln_scale", 1, D, 0.3, 1);
        add(name + "_ln_bias", 1, D, 0.1);
    };
    const attention = (name) => {
        for (const part of ["q", "k", "v", "o"]) {
            matrix(`${name}_W${part}`, D, D);
            add(`${name}_b${part}`, 1, D, 0.1);
        }
        norm(name + "_Wo");
    };
    const feedforward = (name) => {
        matrix(name + "_W1", D, F);
        add(name + "_b1", 1, F, 0.1);
        matrix(name + "_W2", F, D);
        add(name + "_b2", 1, D, 0.1);
        norm(name + "_ffn");
    };
    add("Wemb", vocab, D, 0.4);
    for (let l = 1; l <= LAYERS; l++) {
        attention(`encoder_l${l}_self`);
        feedforward(`encoder_l${l}_ffn`);
        if (kind === "ssru") {
            matrix(`decoder_l${l}_rnn_W`, D, D);
            matrix(`decoder_l${l}_rnn_Wf`, D, D);
            add(`decoder_l${l}_rnn_bf`, 1, D, 0.3);
            norm(`decoder_l${l}_rnn_ffn`);
        } else {
            attention(`decoder_l${l}_self`);
        }
        attention(`decoder_l${l}_context`);
        feedforward(`decoder_l${l}_ffn`);
    }
    add("decoder_ff_logit_out_b", 1, vocab, 0.5);
    return all;
}

function settings_of(kind, vocab) {
    const values = {
        "bert-train-type-embeddings": true, "bert-type-vocab-size": 2, "dec-cell": kind === "ssru" ? "ssru" : "gru",
        "dec-cell-base-depth": 2, "dec-cell-high-depth": 1, "dec-depth": LAYERS, "dim-emb": D, "dim-rnn": 1024,
        "dim-vocabs": `\n  - ${vocab}\n  - ${vocab}`, "enc-cell": "gru", "enc-cell-depth": 1, "enc-depth": LAYERS,
        "enc-type": "bidirectional", "input-types": "\n  []", "layer-normalization": false, "lemma-dim-emb": 0,
        "right-left": false, skip: false, "tied-embeddings": false, "tied-embeddings-all": true,
        "tied-embeddings-src": false, "transformer-aan-activation": "swish", "transformer-aan-depth": 2,
        "transformer-aan-nogate": false,
        "transformer-decoder-autoreg": kind === "ssru" ? "rnn" : "self-attention", "transformer-dim-aan": 2048,
        "transformer-dim-ffn": F, "transformer-ffn-activation": "relu", "transformer-ffn-depth": 2,
        "transformer-guided-alignment-layer": "last", "transformer-heads": HEADS, "transformer-no-projection": false,
        "transformer-postprocess": "dan", "transformer-postprocess-emb": "d", "transformer-preprocess": "\"\"",
        "transformer-tied-layers": "\n  []", "transformer-train-position-embeddings": false, type: "transformer",
        ulr: false, "ulr-dim-emb": 0, "ulr-trainable-transformation": false, version: "v1.9.56",
    };
    return Object.entries(values).map(([key, value]) => `${key}: ${value}\n`).join("") + "\0";
}

function numbers(values, bytes) {
    const out = Buffer.alloc(values.length * bytes);
    values.forEach((value, i) => (bytes === 8 ? out.writeBigUInt64LE(BigInt(value), 8 * i) : out.writeInt32LE(value, 4 * i)));
    return out;
}

function padded(data) {
    return Buffer.concat([data, Buffer.alloc((256 - (data.length % 256)) % 256)]);
}

function model(kind, vocab_text, seed) {
    const vocab = Number(vocab_text);
    const text = padded(Buffer.from(settings_of(kind, vocab)));
    const all = tensors_of(kind, vocab, Number(seed));
    all.push({ name: "special:model.yml", type: 0x101, shape: [text.length], data: text });
    const head = [numbers([1, all.length], 8)];
    for (const one of all)
        head.push(numbers([one.name.length + 1, one.type, one.shape.length, padded(one.data).length], 8));
    for (const one of all) head.push(Buffer.from(one.name + "\0"));
    for (const one of all) head.push(numbers(one.shape, 4));
    const size = head.reduce((sum, part) => sum + part.length, 8), gap = (256 - (size % 256)) % 256;
    process.stdout.write(Buffer.concat([...head, numbers([gap], 8), Buffer.alloc(gap), ...all.map((one) => padded(one.data))]));
}

/* ---- differences of translations ---- */

const words_of = (text) => text.split(" ").filter((word) => word !== "");

/* Reads three files of lines. Returns them and the numbers of the lines where ours and theirs differ. */
function texts_of(...files) {
    const [source, ours, theirs] = files.map((file) => fs.readFileSync(file, "utf8").trimEnd().split("\n"));
    if (source.length !== ours.length || source.length !== theirs.length) {
        console.log(`${source.length} lines, but ${ours.length} of ours and ${theirs.length} of theirs`);
        process.exit(1);
    }
    return { source, ours, theirs, differ: source.map((_, i) => i).filter((i) => ours[i] !== theirs[i]) };
}

function differ(...files) {
    const { source, ours, theirs, differ } = texts_of(...files);
    for (const i of differ) console.log(`${source[i]}\t${ours[i]}\n${source[i]}\t${theirs[i]}`);
}

/* Returns the log-probability of word k or, after the last one, of the end. */
function likely(score, k) {
    const words = score.words.map((word) => word.log_probability);
    if (k < words.length) return words[k];
    return score.log_probability - words.reduce((sum, word) => sum + word, 0);
}

function reason(source, ours, theirs, ours_score, theirs_score, tie) {
    const a = words_of(ours), b = words_of(theirs);
    let k = 0;
    while (k < a.length && k < b.length && a[k] === b[k]) k++;
    if (Math.abs(likely(ours_score, k) - likely(theirs_score, k)) <= tie) return "tie";
    const ended = k === a.length || k === b.length;
    return ended && k >= 2 * words_of(source).length ? "length" : "none";
}

function explain(source_file, ours_file, theirs_file, tie) {
    const { source, ours, theirs, differ } = texts_of(source_file, ours_file, theirs_file);
    const scores = fs.readFileSync(0, "utf8").trim().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
    const counts = { tie: 0, length: 0, none: 0 };
    differ.forEach((i, n) => {
        const why = reason(source[i], ours[i], theirs[i], scores[2 * n], scores[2 * n + 1], Number(tie));
        counts[why]++;
        if (why === "none" && counts.none < 6) console.log(`${source[i]} | ${ours[i]} | ${theirs[i]}`);
    });
    console.log(`${source.length} lines, ${source.length - differ.length} equal, ${counts.tie} ties, ` +
        `${counts.length} end at a limit, ${counts.none} differ`);
    process.exit(counts.none > 0 ? 1 : 0);
}

const commands = { translate, pieces, model, differ, explain };
const [command, ...given] = process.argv.slice(2);
if (!commands[command]) fail(`no command ${command}`);
else commands[command](...given);
