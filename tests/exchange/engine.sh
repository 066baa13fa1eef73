#!/bin/sh
# engine.sh FOLDER - Marian as WebAssembly into FOLDER/package, by npm; a message and 1 where that is not possible.
set -eu
package=@browsermt/bergamot-translator@0.4.9
mkdir -p "$1" && cd "$1"
[ ! -r package/worker/bergamot-translator-worker.wasm ] || exit 0
command -v npm >/dev/null && command -v node >/dev/null || { echo "node and npm are not installed" >&2; exit 1; }
file=$(npm pack --silent "$package" 2>/dev/null) && [ -n "$file" ] || { echo "npm cannot fetch $package" >&2; exit 1; }
tar -xzf "$file"
rm "$file"
