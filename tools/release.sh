#!/bin/sh
# Packs a release of what is tagged, clean and green, and of nothing else: release.sh VERSION, such as v0.1.0.
# SIGNING_KEY=FILE, an SSH key, signs its checksums.
set -eu
version=${1:-}
cd "$(dirname "$0")/.."
refuse() {
	echo "release: $*" >&2
	exit 1
}
echo "$version" | grep -qE '^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$' || refuse "'$version' is no version such as v0.1.0: make release VERSION=v0.1.0"
grep -qE "^## \[${version#v}\] - [0-9]{4}-[0-9]{2}-[0-9]{2}\$" CHANGELOG.md || refuse "CHANGELOG.md has no line '## [${version#v}] - DATE': say what changed, and when it is released"
[ -z "$(git status --porcelain)" ] || refuse "the tree has changes that are not committed: $(git status --porcelain | head -n 3 | tr '\n' ' ')"
tagged=$(git rev-parse -q --verify "refs/tags/$version^{commit}") || refuse "there is no tag $version: git tag -s $version -m $version"
[ "$tagged" = "$(git rev-parse HEAD)" ] || refuse "$version is another commit, $(git rev-parse --short "$tagged"): git switch --detach $version"
[ "$(git cat-file -t "refs/tags/$version")" = tag ] || refuse "$version is a tag without a name and a date: git tag -d $version && git tag -s $version -m $version"
bash .ci/run || refuse "not green: .ci/run failed"
[ -z "$(git status --porcelain)" ] || refuse "the tests have changed the tree: $(git status --porcelain | head -n 3 | tr '\n' ' ')"
sh tools/dist.sh "$version"
echo "release: $version is in dist/; publish it with: git push origin $version"
