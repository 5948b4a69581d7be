#!/bin/sh
# Makes the pictures of the README from a result: docs/images/report.png and docs/images/terminal.png.
#   scripts/pictures.sh FLOWSIEVE RESULT
# Needs chromium, script(1) and python3.
set -eu
cd "$(dirname "$0")/.."
flowsieve=$1
result=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

shoot() { # page, width, height, picture
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="$2,$3" --virtual-time-budget=10000 \
        --screenshot="$4" "file://$1" >/dev/null 2>&1
}

# What a terminal of 80 columns shows, with its colours.
script -qec "stty cols 80; $flowsieve report $result" /dev/null >"$scratch/terminal.txt"
python3 - "$scratch/terminal.txt" "$scratch/terminal.html" <<'PYTHON'
import html, re, sys

colours = {"31": "#e06c75", "32": "#98c379", "1": "#ffffff", "2": "#8a919e"}
text = html.escape(open(sys.argv[1], encoding="utf-8").read().replace("\r", ""))
text = "\n".join(text.splitlines()[:38])
text = re.sub(r"\x1b\[0?m|\x1b\[39m|\x1b\[22m", "</span>", text)
text = re.sub(r"\x1b\[(\d+)m", lambda code: f'<span style="color:{colours.get(code[1], "inherit")}">', text)
style = "background:#1e222a;color:#c8ccd4;font:15px/1.35 monospace;margin:0;padding:16px 20px"
open(sys.argv[2], "w", encoding="utf-8").write(f'<meta charset="utf-8"><body style="{style}"><pre style="margin:0">{text}</pre>')
PYTHON
shoot "$scratch/terminal.html" 780 810 "$PWD/docs/images/terminal.png"
shoot "$(realpath "$result/report.html")" 1200 1400 "$PWD/docs/images/report.png"
ls -l docs/images
