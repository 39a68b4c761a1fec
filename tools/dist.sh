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
for platform in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do
	os=${platform%/*} arch=${platform#*/}
	echo "building $platform"
	exe=
	[ "$os" = windows ] && exe=.exe
	# -buildvcs=false: what a checkout adds of its own (a dirty tree) is said by the version already.
	GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false -tags grpcnotrace -ldflags "-s -w -buildid= -X main.version=$version" \
		-o "$stage/bin/${os}_$arch/ingest$exe" ./cmd/ingest
done

go build -trimpath -buildvcs=false -tags manual,grpcnotrace -o "$stage/manual" ./cmd/ingest
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
