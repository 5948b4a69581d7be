#!/bin/sh
# Installs a wheel, and runs the command and the package there. On Linux that is done in a root folder with Python and the libraries
# that it and the wheel link, and nothing else: no compiler, no Rust, no network. Where no such folder can be entered it says so, and
# does the same in an environment of its own.
#   scripts/try_wheel.sh WHEEL
set -eu
[ $# -eq 1 ] && [ -f "$1" ] || {
    echo "try_wheel: $* is not one wheel; expected the path of a file" >&2
    exit 2
}
wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Nothing of the clone is near.
cd "$folder"
mkdir -p root/dev root/tmp
cp "$wheel" root/tmp

cat >root/tmp/try.sh <<'END'
set -eu
cd /tmp 2>/dev/null && [ -f try.sh ] || cd "$(dirname "$0")"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check --no-index ./*.whl
venv/bin/flowsieve --version
venv/bin/flowsieve run quickstart --scale smoke --out result >result.txt
venv/bin/python -c 'import flowsieve as fs; print(fs.Result("result").title)'
END

# Copies files and folders, and the libraries that they link, to the same places in the root folder.
take() {
    {
        printf '%s\n' "$@"
        find -L "$@" \( -name '*.so' -o -path '*/bin/*' \) -type f | xargs ldd 2>/dev/null | sed -n 's/.*[[:space:]]\(\/[^ ]*\) (0x.*/\1/p'
    } | sort -u | tar -c -h -C / --exclude=site-packages --exclude=__pycache__ --exclude=test -T - 2>/dev/null | tar -x -C root
}

enter='mount --rbind /dev root/dev && exec chroot root /bin/sh /tmp/try.sh'
[ "$(id -u)" -eq 0 ] || user='--user --map-root-user'
# shellcheck disable=SC2086 # none or two words
if why=$(unshare ${user:-} --mount --net true 2>&1); then
    python3 -c 'import sys, sysconfig; print(sysconfig.get_path("stdlib")); print(sys._base_executable)' >python.txt
    python=$(tail -n 1 python.txt)
    # shellcheck disable=SC2016 # Python's own
    python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    [wheel.extract(name, "extension") for name in wheel.namelist() if name.endswith(".so")]' "$wheel"
    take /bin/sh "$python" "$(head -n 1 python.txt)" "$folder/extension" /usr/share/python-wheels/
    [ -e "root$(dirname "$python")/python3" ] || ln -s "$python" "root$(dirname "$python")/python3"
    # shellcheck disable=SC2086 # none or two words
    env -i PATH="$(dirname "$python"):/usr/sbin:/sbin:/bin" unshare ${user:-} --mount --net sh -c "$enter"
else
    echo "try_wheel: no root folder of its own, but an environment with what is here: ${why:-no unshare}"
    sh root/tmp/try.sh
fi
