#!/bin/sh
# Prints the path of a program that has the name of its Debian package, for the tests that run it: nginx or caddy. It is the
# one on PATH, else one below .tools, where its package is unpacked and not installed, so that no service begins. Says on
# standard error why there is none, and exits 1.
set -eu
cd "$(dirname "$0")/.."
name=$1 unpacked="$PWD/.tools/deb/$1"

# found prints the program, if there is one below .tools.
found() {
	for path in "$unpacked/usr/sbin/$name" "$unpacked/usr/bin/$name"; do
		[ ! -x "$path" ] || { echo "$path" && exit; }
	done
}

! command -v "$name" || exit 0
found
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
download() { (cd "$dir" && apt-get -qq download "$name" >log 2>&1); }
if ! download; then # the lists may be old, or none
	[ "$(id -u)" != 0 ] || apt-get -qq -o DPkg::Lock::Timeout=600 update >/dev/null 2>&1 || :
	download || { echo "debian-program.sh: apt-get cannot download $name: $(tail -1 "$dir/log")" >&2 && exit 1; }
fi
dpkg-deb -x "$dir"/*.deb "$dir/unpacked"
mkdir -p .tools/deb
mv -T "$dir/unpacked" "$unpacked" 2>/dev/null || : # another test was faster
found
echo "debian-program.sh: the package $name has no program $name" >&2
exit 1
