#!/bin/sh
# Prints the directory of the programs of PostgreSQL 15 or newer (initdb, postgres), for the tests to start servers of
# their own. Looks at $POSTGRES_BIN, then where Debian puts them, then at PATH; else installs them and pgbouncer with
# apt-get (as root) or brew, saying so on standard error. Where none can be had it says so, prints nothing, and the tests
# that need one are skipped.
set -eu

say() { echo "postgres.sh: $*" >&2; }

newest() {
	for dir in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -t/ -k5 -n -r) "$(dirname "$(command -v postgres || echo /nonexistent/postgres)")"; do
		version=$("$dir/postgres" --version 2>/dev/null | sed -n 's/.*) \([0-9]*\).*/\1/p') || version=
		if [ "${version:-0}" -ge 15 ] && [ -x "$dir/initdb" ]; then
			echo "$dir"
			return
		fi
	done
}

if [ -n "${POSTGRES_BIN:-}" ]; then
	echo "$POSTGRES_BIN"
	exit 0
fi
found=$(newest)
if [ -z "$found" ] || ! PATH=$PATH:/usr/sbin command -v pgbouncer >/dev/null; then
	if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
		say "no postgresql or no pgbouncer here: installing them with apt-get"
		# No cluster is made, and nothing is started: the tests have their own.
		if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
			mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
		fi
		sh "$(dirname "$0")/apt-install.sh" postgresql pgbouncer || true
	elif [ -z "$found" ] && command -v brew >/dev/null; then
		say "no postgresql here: installing it with brew"
		brew install --quiet postgresql@15 pgbouncer >&2 || true
	fi
	found=$(newest)
fi
if [ -z "$found" ]; then
	say "no postgresql here: what needs one is skipped; install version 15 or newer (as root: apt-get install postgresql pgbouncer), or set POSTGRES_BIN to the directory of its programs"
fi
echo "$found"
