/* marian.js MODEL VOCABULARY PRECISION [SHORTLIST] <lines - Marian as WebAssembly (npm
   @browsermt/bergamot-translator, unpacked in the folder ENGINE names) translates lines greedily, one line each, to
   standard output. VOCABULARY: a file for both sides, or two separated by a comma. PRECISION: float32, int8shiftAll or
   int8shiftAlphaAll (with the file's own scales of activations), of its matrix products. It needs no network and no
   other file. */
"use strict";
const fs = require("fs");
const path = require("path");

const [model, vocabularies_of, precision, shortlist] = process.argv.slice(2);
const worker = path.join(process.env.ENGINE, "worker");

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

function instantiate(imports, accept) {
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

const options = {
    "beam-size": 1, normalize: "0", "word-penalty": 0, "max-length-break": 128, "max-length-factor": "3.0",
    "mini-batch-words": 1024, workspace: 128, "cpu-threads": 0, quiet: true, "quiet-translation": true,
    "skip-cost": true, "allow-unk": false, "gemm-precision": precision,
};

function translate_all() {
    const service = new Module.BlockingService({ cacheSize: 0 });
    const vocabularies = new Module.AlignedMemoryList();
    for (const file of vocabularies_of.split(",")) vocabularies.push_back(memory_of(file, 64));
    const text = Object.entries(options).map(([key, value]) => `${key}: ${value}\n`).join("");
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

global.self = global;
global.Module = {
    instantiateWasm: instantiate,
    print: () => {},
    printErr: (text) => process.stderr.write(text + "\n"),
    onRuntimeInitialized: () => {
        try {
            translate_all();
        } catch (error) {
            fail(error);
        }
    },
};
(0, eval)(fs.readFileSync(path.join(worker, "bergamot-translator-worker.js"), "utf8"));
