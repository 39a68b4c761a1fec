#!/bin/sh
# Installs Debian packages as root, quietly: apt's own words are shown, on standard error, only if it fails. A service that
# a package brings is not started where nothing runs services. A fresh machine upgrades itself at boot, so a lock that
# another apt holds is waited for, for up to ten minutes. DPkg::Lock::Timeout waits for dpkg's lock and not for those of
# the lists and the archives: for these the command is repeated.
set -eu

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive

patient() {
	tries=120
	until apt-get -o DPkg::Lock::Timeout=600 "$@" </dev/null >"$log" 2>&1; do
		tries=$((tries - 1))
		if [ "$tries" = 0 ] || ! grep -qE 'Could not get lock|Unable to (acquire|lock)' "$log"; then
			return 1
		fi
		[ "$tries" != 119 ] || echo "apt-install.sh: waiting for another apt-get to end" >&2
		sleep 5
	done
}

if ! { patient update && patient install -y --no-install-recommends "$@"; }; then
	cat "$log" >&2
	echo "apt-install.sh: apt-get could not install $*" >&2
	exit 1
fi
