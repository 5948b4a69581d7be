#!/bin/sh
# What the house holds, beside what it held when scripts/size.txt was written: `scripts/size.sh` prints the table, and
# `scripts/size.sh --keep` writes the file. Code lines are those of src without tests, comments and blank lines. What needs
# the program is counted if it was built: FLOWSIEVE names it, otherwise it is that of `make test`.
set -eu
cd "$(dirname "$0")/.."
kept=scripts/size.txt
target=${CARGO_TARGET_DIR:-target}
program=${FLOWSIEVE:-$target/ci/flowsieve}

engine='core|transport|sim|schemes|workload|settings|record|lab|agent'
papers='papers'

# Prints the files of src that are not tests, of the crates that match.
sources() { git ls-files 'crates/*/src/*.rs' | grep -E "^crates/($1)/" | grep -vE '/(tests|testing)(\.rs|/)' || true; }

# Counts code lines of the files that are named on its input.
code() {
    xargs -r awk '
        FNR == 1 { tests = 0; cfg = 0 }
        tests { next }
        /^ *#\[cfg\(test\)\]/ { cfg = 1; next }
        cfg && /^ *#\[/ { next }
        cfg { cfg = 0; if (/^ *(pub(\([a-z]+\))? )?mod [a-z_]+ \{/) tests = 1; next }
        /^ *(\/\/|$)/ { next }
        { lines++ }
        END { print lines + 0 }' | awk '{ lines += $1 } END { print lines + 0 }'
}

all=$(ls crates | paste -sd'|' -)
workbench=$(ls crates | grep -vE "^($engine|$papers)\$" | paste -sd'|' -)
listed() { if [ -x "$program" ]; then "$program" "$@" 2>/dev/null | grep -c '"name"'; else echo -; fi; }
count() { wc -l | tr -d ' '; }

now() {
    echo "code lines of the engine;$(sources "$engine" | code)"
    echo "code lines of the workbench;$(sources "$workbench" | code)"
    echo "code lines of papers;$(sources "$papers" | code)"
    echo "code lines of Rust;$(sources "$all" | code)"
    echo "lines of Rust in tests;$({ git ls-files 'crates/*.rs'; sources "$all"; } | sort | uniq -u | xargs cat | count)"
    echo "lines of schemes and sets in TOML;$(git ls-files 'crates/schemes/*.toml' | grep / | xargs cat | count)"
    echo "crates;$(ls crates | count)"
    echo "programs of tests;$(git grep -lE '^\[\[test\]\]' -- 'crates/*/Cargo.toml' | count)"
    echo "lines with ParameterSet::;$(git grep -n 'ParameterSet::' -- crates | count)"
    echo "read_or in sources;$(sources "$all" | xargs grep -n 'read_or(' | count)"
    echo "settings;$(listed list settings --json)"
    echo "schemes;$(listed list schemes --json)"
    echo "commands;$(if [ -x "$program" ]; then "$program" --help | grep -cE '^  [a-z]+  +[A-Z]'; else echo -; fi)"
    echo "pages in docs;$(git ls-files 'docs/*.md' | count)"
    echo "words in docs;$(git ls-files 'docs/*.md' | xargs cat | wc -w | tr -d ' ')"
    echo "foreign crates in the command;$(cargo tree --locked --offline -p flowsieve -e normal,build --prefix none 2>/dev/null | grep -v "($(pwd)" | awk '{print $1, $2}' | sort -u | count)"
    echo "KB of the executable;$(if [ -f "$target/release/flowsieve" ]; then du -k "$target/release/flowsieve" | cut -f1; else echo -; fi)"
}

if [ "${1-}" = --keep ]; then
    now > "$kept"
    exit
fi
touch "$kept"
now | awk -F';' -v kept="$kept" '
    BEGIN { while ((getline line < kept) > 0) { split(line, of, ";"); was[of[1]] = of[2] } printf "%-36s %9s %9s %8s\n", "size", "kept", "now", "change" }
    { known = ($1 in was) && was[$1] != "-" && $2 != "-"
      printf "%-36s %9s %9s %8s\n", $1, ($1 in was) ? was[$1] : "-", $2, known ? sprintf("%+d", $2 - was[$1]) : "" }'
