#!/bin/sh
# Prints the path of a redis-server, version 7 or newer, for the tests to start on a port of their own.
# Looks at $REDIS_SERVER, then at PATH; else installs one with apt-get (as root) or brew, saying so on
# standard error; else says in one line what to do and exits 1.
set -eu

say() { echo "redis-server.sh: $*" >&2; }

# accept PATH prints it if it is new enough, and ends the script either way.
accept() {
	version=$("$1" --version 2>/dev/null | sed -n 's/.* v=\([0-9][0-9.]*\).*/\1/p') || version=
	if [ -z "$version" ]; then
		say "$1 --version does not say it is a redis-server; set REDIS_SERVER=/path/to/redis-server"
		exit 1
	fi
	if [ "${version%%.*}" -lt 7 ]; then
		say "$1 is version $version, the tests need 7 or newer; set REDIS_SERVER=/path/to/redis-server"
		exit 1
	fi
	echo "$1"
	exit 0
}

if [ -n "${REDIS_SERVER:-}" ]; then
	accept "$REDIS_SERVER"
fi
if found=$(command -v redis-server); then
	accept "$found"
fi

if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	say "no redis-server here: installing it with apt-get"
	sh "$(dirname "$0")/apt-install.sh" redis-server
elif command -v brew >/dev/null; then
	say "no redis-server here: installing it with brew"
	brew install --quiet redis >&2
else
	say "no redis-server here: install version 7 or newer (as root: apt-get install redis-server), or set REDIS_SERVER=/path/to/redis-server"
	exit 1
fi
if found=$(command -v redis-server); then
	accept "$found"
fi
say "installed, but redis-server is not in PATH; set REDIS_SERVER=/path/to/redis-server"
exit 1
