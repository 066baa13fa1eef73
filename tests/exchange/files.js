/* files.js pieces <words >F.spm - a SentencePiece model of words and of their letters, all equally likely,
   as many as are a multiple of 8.
   files.js model KIND VOCAB SEED >F.bin - a model of Marian in its own layout, written from its definition: KIND
   none (self-attention) or ssru (recurrent decoder), with random weights. */
"use strict";
const fs = require("fs");

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

function model(kind, vocab, seed) {
    const text = padded(Buffer.from(settings_of(kind, vocab)));
    const all = tensors_of(kind, vocab, seed);
    all.push({ name: "special:model.yml", type: 0x101, shape: [text.length], data: text });
    const head = [numbers([1, all.length], 8)];
    for (const one of all)
        head.push(numbers([one.name.length + 1, one.type, one.shape.length, padded(one.data).length], 8));
    for (const one of all) head.push(Buffer.from(one.name + "\0"));
    for (const one of all) head.push(numbers(one.shape, 4));
    const size = head.reduce((sum, part) => sum + part.length, 8), gap = (256 - (size % 256)) % 256;
    process.stdout.write(Buffer.concat([...head, numbers([gap], 8), Buffer.alloc(gap), ...all.map((one) => padded(one.data))]));
}

const [what, kind, vocab, seed] = process.argv.slice(2);
if (what === "pieces") pieces();
else model(kind, Number(vocab), Number(seed));
