#!/bin/sh
# Builds the program as it is released: static, and the same bytes from the same commit wherever it is built.
#   build.sh VERSION OUT [OS/ARCH]       BUILD_TAGS adds tags; without OS/ARCH for this machine
# Without its trace pages, grpc needs no html/template, and the linker leaves out what nobody calls: ten of 38 MB. What a
# checkout could add of its own (-buildvcs: a dirty tree) is said by the version already.
set -eu
export CGO_ENABLED=0
if [ -n "${3:-}" ]; then
	export GOOS="${3%/*}" GOARCH="${3#*/}"
fi
exec go build -trimpath -buildvcs=false -tags "grpcnotrace${BUILD_TAGS:+,$BUILD_TAGS}" -ldflags "-s -w -buildid= -X main.version=$1" -o "$2" ./cmd/ingest
