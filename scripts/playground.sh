#!/bin/sh
# Builds the playground into target/playground/index.html: one page with the engine, the worker and the script inside, which
# works from a folder, from any web server and offline. It needs the target wasm32-unknown-unknown of rustup.
set -eu
cd "$(dirname "$0")/.."
target=wasm32-unknown-unknown
if ! rustup target list --installed 2>/dev/null | grep -q "^$target$"; then
    rustup target add "$target" >/dev/null 2>&1 || {
        echo "playground: no target $target; run: rustup target add $target"
        exit 2
    }
fi
built=${CARGO_TARGET_DIR:-target}/wasm
# No module asks for random numbers, so nothing has to give them.
RUSTFLAGS='--cfg getrandom_backend="unsupported"' cargo build --locked --profile page --target "$target" --target-dir "$built" -p flowsieve-playground
out=${CARGO_TARGET_DIR:-target}/playground
mkdir -p "$out"
module=$built/$target/page/flowsieve_playground.wasm
python3 - "$module" "$out" <<'END'
import base64, gzip, pathlib, sys

module, out = map(pathlib.Path, sys.argv[1:])
page = pathlib.Path("playground")
read = lambda name: (page / name).read_text()
module = base64.b64encode(gzip.compress(module.read_bytes(), 9, mtime=0)).decode()
script = "\n".join(read(name) for name in ("experiment.js", "engine.js", "trace.js", "answer.js", "side.js", "page.js"))
data = f'<script type="text/plain" id="worker">{read("worker.js")}</script>\n<script type="application/octet-stream" id="module">{module}</script>\n'
text = read("index.html").replace("/*STYLE*/", read("style.css")).replace("<script>/*SCRIPT*/</script>", data + f"<script>{script}</script>")
(out / "index.html").write_text(text)
print(f"{out / 'index.html'}: {len(text) / 1e6:.2f} MB, {len(gzip.compress(text.encode(), 9)) / 1e6:.2f} MB gzipped")
END
