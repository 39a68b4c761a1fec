#!/bin/sh
# Looks at the pages of a program in chromium: run.sh PROGRAM. Finds or installs chromium and node (as root, with
# apt-get) and what package.json names (with npm), saying so; where it cannot, it says in one line what is absent, and
# ends with 0: nothing was looked at.
set -eu
here=$(dirname "$0")
work=$here/../../.tools/e2e
say() { echo "e2e: $*" >&2; }
skip() {
	say "SKIPPED, nothing was looked at: $*"
	exit 0
}

browser() { command -v "${CHROMIUM:-chromium}" || command -v chromium-browser || command -v google-chrome; }
complete() { browser >/dev/null && command -v node >/dev/null && command -v npm >/dev/null; }

absent() { # what there is may be of another source, which Debian's would be in conflict with
	browser >/dev/null || echo chromium
	command -v node >/dev/null || echo nodejs
	command -v npm >/dev/null || echo npm
}

if ! complete && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	say "installing with apt-get what is not here: $(echo $(absent))"
	sh "$here/../apt-install.sh" $(absent) || true
fi
complete || skip "chromium, node and npm are needed (as root on Debian: apt-get install chromium nodejs npm; CHROMIUM names another one)"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || skip "node $(node --version) is too old: playwright-core needs 20"

mkdir -p "$work"
if ! cmp -s "$here/package-lock.json" "$work/package-lock.json" || [ ! -d "$work/node_modules/axe-core" ]; then
	say "installing playwright-core and axe-core with npm, into .tools/e2e"
	cp "$here/package.json" "$here/package-lock.json" "$work/"
	npm ci --prefix "$work" --ignore-scripts --no-audit --no-fund >"$work/npm.log" 2>&1 ||
		{ rm -f "$work/package-lock.json"; skip "npm could not install them: $(tail -n 1 "$work/npm.log")"; }
fi
E2E_MODULES=$(cd "$work" && pwd) exec node "$here/look.mjs" "$1" "$(browser)" "$work/screens"
