/* compare.js differ SOURCE OURS THEIRS >pairs - source, a tab, target of each line whose texts differ: ours, then theirs.
   compare.js explain SOURCE OURS THEIRS TIE <scores - how many lines are equal and why others are not, by the
   log-probabilities of words (toy_translate score --json) of these pairs; exit status 1 if a line has no reason:
       tie     the first two words that differ, or a word and an end, are as likely, within TIE
       length  one text is the front of the other, and as long as a translation of its source may become */
"use strict";
const fs = require("fs");

const [what, ...files] = process.argv.slice(2);
const [source, ours, theirs] = files.slice(0, 3).map((file) => fs.readFileSync(file, "utf8").trimEnd().split("\n"));
const differ = source.map((_, i) => i).filter((i) => ours[i] !== theirs[i]);
const words_of = (text) => text.split(" ").filter((word) => word !== "");

/* The log-probability of word k; behind the last one, of the end. */
function likely(score, k) {
    const words = score.words.map((word) => word.log_probability);
    if (k < words.length) return words[k];
    return score.log_probability - words.reduce((sum, word) => sum + word, 0);
}

function reason(i, ours_score, theirs_score, tie) {
    const a = words_of(ours[i]), b = words_of(theirs[i]);
    let k = 0;
    while (k < a.length && k < b.length && a[k] === b[k]) k++;
    if (Math.abs(likely(ours_score, k) - likely(theirs_score, k)) <= tie) return "tie";
    const ended = k === a.length || k === b.length;
    return ended && k >= 2 * words_of(source[i]).length ? "length" : "none";
}

function explain(tie) {
    const scores = fs.readFileSync(0, "utf8").trim().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
    const counts = { tie: 0, length: 0, none: 0 };
    differ.forEach((i, n) => {
        const why = reason(i, scores[2 * n], scores[2 * n + 1], tie);
        counts[why]++;
        if (why === "none" && counts.none < 6) console.log(`${source[i]} | ${ours[i]} | ${theirs[i]}`);
    });
    console.log(`${source.length} lines, ${source.length - differ.length} equal, ${counts.tie} ties, ` +
        `${counts.length} end at a limit, ${counts.none} differ`);
    process.exit(counts.none > 0 ? 1 : 0);
}

if (source.length !== ours.length || source.length !== theirs.length) {
    console.log(`${source.length} lines, but ${ours.length} of ours and ${theirs.length} of theirs`);
    process.exit(1);
}
if (what === "explain") explain(Number(files[3]));
else for (const i of differ) console.log(`${source[i]}\t${ours[i]}\n${source[i]}\t${theirs[i]}`);
