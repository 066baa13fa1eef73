"""kit.py - runs toy_translate and other programs and compares their results; shared by the scripts beside it."""
import json
import subprocess
import sys

failures = 0


def fail(message):
    global failures
    failures += 1
    print(message, flush=True)


def end():
    sys.exit(failures > 0)


def main(functions):
    """Runs the function test_CASE of a script and exits with 1 if anything failed. The arguments of every script are PROGRAM
    ENGINES LOGITS LIBRARY HEADERS CASE: toy_translate, the folder of engines.sh, the program of logits.c, librapt.so and the
    folder that holds rapt/."""
    functions[f"test_{sys.argv[-1]}"]()
    end()


def run(*command, folder=".", given=None):
    """Returns the standard output of a command, or None if it fails, which is reported. given: its standard input."""
    done = subprocess.run([str(word) for word in command], cwd=folder, input=given, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr[-600:]}")
        return None
    return done.stdout


def corpus(program):
    """Writes pairs to train with (train.src, .trg, .tsv) and 40 others to compare (pairs.src, .trg, .tsv)."""
    run(program, "demo", "--write-corpus", "corpus.tsv")
    pairs = open("corpus.tsv", encoding="utf-8").read().splitlines()
    for name, lines in (("train", pairs[:2000]), ("pairs", pairs[-40:])):
        sides = zip(*(line.split("\t") for line in lines))
        for side, texts in zip(("src", "trg"), sides):
            open(f"{name}.{side}", "w", encoding="utf-8").write("".join(text + "\n" for text in texts))
        open(f"{name}.tsv", "w", encoding="utf-8").write("".join(line + "\n" for line in lines))
    open("pairs.align", "w").write("0-0\n" * 2000)


def refused(program, folder, reason):
    """Fails unless toy_translate refuses a model and says the reason."""
    done = subprocess.run([program, "info", "-m", folder], capture_output=True, encoding="utf-8")
    if done.returncode == 0 or reason not in done.stderr:
        fail(f"{folder}: {done.stderr!r} does not say {reason!r}")


def json_lines(text):
    return [json.loads(line) for line in (text or "").splitlines()]


def translations(program, model, source, beam=1, *options):
    """Returns (score, text) for each line of the file source, by toy_translate. beam None: by the settings of the model's
    folder; otherwise scores are means, unless the options say otherwise. Computes in floats, as the other programs do,
    unless the options have a precision."""
    settings = () if beam is None else ("--beam", beam)
    if "--precision" not in options:
        settings += ("--precision", "f32")
    if beam is not None and "--length-penalty" not in options:
        settings += ("--length-penalty", 1)
    lines = json_lines(run(program, "translate", "--lines", "--model", model, "--json", *settings, *options, source))
    return [(line["score"], line["translation"]) for line in lines]


def scores(program, model, pairs, *options):
    """Returns (log-probability of the target, None) for each pair of a file, by toy_translate in floats."""
    lines = json_lines(run(program, "score", "--model", model, "--precision", "f32", "--data", pairs, "--json", *options))
    return [(line["log_probability"], None) for line in lines]


def agree(what, ours, theirs, tolerance, least=1.0):
    """Fails unless at least the fraction `least` of the texts is equal, and the scores of those differ by the tolerance at
    most. Some texts may differ, because two tokens can be equally likely up to rounding."""
    if not ours or len(ours) != len(theirs):
        fail(f"{what}: {len(ours)} lines of ours, {len(theirs)} of theirs")
        return
    equal = [(our, their) for our, their in zip(ours, theirs) if our[1] == their[1]]
    worst = max((abs(our[0] - their[0]) for our, their in equal), default=0)
    print(f"{what}: {len(equal)} of {len(ours)} lines equal, scores within {worst:.1e}", flush=True)
    if len(equal) >= least * len(ours) and worst <= tolerance:
        return
    fail(f"{what}: not equal, within {tolerance}")
    for number, (our, their) in enumerate(zip(ours, theirs), 1):
        if our[1] != their[1] or abs(our[0] - their[0]) > tolerance:
            print(f"    line {number}: ours {our}, theirs {their}")
            break
