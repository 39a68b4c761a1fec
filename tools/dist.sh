#!/bin/sh
# Builds a release into dist/: archives for every platform, .deb, .rpm, an OCI image, a Homebrew formula, manual pages
# and completions, bills of materials, SHA256SUMS. The same commit gives the same bytes, wherever and whenever.
#   dist.sh VERSION            SIGNING_KEY=FILE, an SSH key, signs SHA256SUMS
set -eu
version=$1
umask 022
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/dist
stage=$root/.tools/dist
epoch=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH="$epoch" TZ=UTC LC_ALL=C CGO_ENABLED=0 GOFLAGS=
rm -rf "$out" "$stage"
mkdir -p "$out" "$stage/man" "$stage/completions"

cd "$root"
while read -r platform; do
	os=${platform%/*} arch=${platform#*/}
	echo "building $platform"
	exe=
	[ "$os" = windows ] && exe=.exe
	sh tools/build.sh "$version" "$stage/bin/${os}_$arch/ingest$exe" "$platform"
done <tools/platforms

BUILD_TAGS=manual sh tools/build.sh "$version" "$stage/manual"
INGEST_MANUAL="$stage/man" "$stage/manual"
host=$stage/bin/$(go env GOOS)_$(go env GOARCH)/ingest$(go env GOEXE)
for shell in bash zsh fish; do
	"$host" completion $shell >"$stage/completions/$shell"
done

(cd tools/dist && go run . -version "$version" -epoch "$epoch" -root "$root" -stage "$stage" -out "$out")
if [ -n "${SIGNING_KEY:-}" ]; then
	ssh-keygen -q -Y sign -n file -f "$SIGNING_KEY" "$out/SHA256SUMS"
fi
ls -l "$out" | awk 'NR > 1 { printf "%12s  %s\n", $5, $9 }'
