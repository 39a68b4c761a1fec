#!/bin/sh
# Installs Debian packages as root, quietly: apt's own words are shown, on standard error, only if it
# fails. A service that a package brings is not started where nothing runs services.
set -eu

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install -y --no-install-recommends "$@"; } </dev/null >"$log" 2>&1; then
	cat "$log" >&2
	echo "apt-install.sh: apt-get could not install $*" >&2
	exit 1
fi
