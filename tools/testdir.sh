#!/bin/sh
# Prints the directory for the files of tests: one in memory where there is one with room, since a test that waits
# for a disk proves no more than one that does not (what survives a power cut is not tested here); else $TMPDIR.
set -eu
memory=/dev/shm
free=$(df -Pk "$memory" 2>/dev/null | awk 'NR == 2 { print $4 }') || free=
if [ -w "$memory" ] && [ "${free:-0}" -ge 2000000 ]; then
	echo "$memory"
else
	echo "${TMPDIR:-/tmp}"
fi
