#!/bin/sh
# ctranslate2_sampled_scores.sh - the score that CTranslate2 returns with a sampled translation is that of the model before
# temperature and top-k, but after the repetition penalty; and an end token inside a target prefix does not end anything.
#
# Guess before the run: a score is the mean log-probability of the distribution that tokens were drawn from, as in
# transformers, so temperature, top-k and the penalty all count or none does; and a prefix with </s> is complete.
# Needs: python3 with venv, and a package index. Installs ctranslate2 4.8.5 into a temporary folder; the model is random.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q ctranslate2==4.8.5 numpy==2.4.6 || {
    echo "skipped: ctranslate2 4.8.5 cannot be installed"
    exit 0
}
exec "$folder/venv/bin/python" - "$folder/model" <<'END'
import os
import sys

import ctranslate2
import numpy
from ctranslate2.specs import TransformerSpec

WIDTH, HIDDEN, NAMES = 16, 32, ["<blank>", "<s>", "</s>", "<unk>"] + [f"w{i}" for i in range(26)]
random = numpy.random.default_rng(1)


def linear(spec, outputs, inputs):
    spec.weight = random.normal(0, 0.6, (outputs, inputs)).astype("float32")
    spec.bias = random.normal(0, 0.3, outputs).astype("float32")


def norm(spec):
    spec.gamma, spec.beta = numpy.ones(WIDTH, "float32"), numpy.zeros(WIDTH, "float32")


def write_model(path):
    spec = TransformerSpec.from_config((1, 1), 2, pre_norm=True)
    for side in (spec.encoder, spec.decoder):
        table = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        table.weight = random.normal(0, 1, (len(NAMES), WIDTH)).astype("float32")
        layer = side.layer[0]
        sizes = {"self_attention": (3, 1), "attention": (1, 2, 1)}
        for name, parts in sizes.items():
            if hasattr(layer, name):
                for part, factor in zip(getattr(layer, name).linear, parts):
                    linear(part, factor * WIDTH, WIDTH)
                norm(getattr(layer, name).layer_norm)
        linear(layer.ffn.linear_0, HIDDEN, WIDTH)
        linear(layer.ffn.linear_1, WIDTH, HIDDEN)
        norm(layer.ffn.layer_norm)
        norm(side.layer_norm)
    linear(spec.decoder.projection, len(NAMES), WIDTH)
    spec.register_source_vocabulary(NAMES)
    spec.register_target_vocabulary(NAMES)
    spec.validate()
    os.mkdir(path)
    spec.save(path)


write_model(sys.argv[1])
ctranslate2.set_random_seed(1)
translator = ctranslate2.Translator(sys.argv[1], intra_threads=1)
source = [["w1", "w5", "w3"]]
print("ctranslate2", ctranslate2.__version__)


def compared(name, **options):
    """The returned score less the model's own mean log-probability of the same tokens."""
    result = translator.translate_batch(source, beam_size=1, min_decoding_length=0, max_decoding_length=12,
                                        return_scores=True, **options)[0]
    tokens = result.hypotheses[0]
    own = translator.score_batch(source, [tokens])[0].log_probs[:len(tokens)]
    mean = sum(own) / len(tokens)
    print(f"{name:22} score {result.scores[0]:8.4f}, model's own {mean:8.4f}")
    return abs(result.scores[0] - mean)


sampled = compared("temperature 3", sampling_topk=0, sampling_temperature=3)
narrow = compared("top-k 2", sampling_topk=2)
penalized = compared("repetition penalty 1.5", repetition_penalty=1.5)
prefixed = translator.translate_batch(source, beam_size=1, max_decoding_length=12, target_prefix=[["w2", "</s>"]])[0].hypotheses[0]
print("prefix w2 </s> continues as:", " ".join(prefixed))
print("expected: all three differ from the model's own or none does; nothing follows </s>")
as_found = sampled < 0.001 and narrow < 0.001 and penalized > 0.05 and prefixed[:2] == ["w2", "</s>"] and len(prefixed) > 2
print("seen:", "as found" if as_found else "something else than when this was written")
sys.exit(not as_found)
END
