#!/bin/sh
# Holds a release to what it promises: the same bytes from two clones with other umasks and zones; no errors of lintian and
# rpmlint; the .deb installed, upgraded, not downgraded and purged in a root made for it; the image run in one. As root,
# on Debian: it installs debootstrap. make dist-check
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
work=${TMPDIR:-/tmp}/dist-check.$$
say() { echo "dist-check: $*"; }
fail() {
	say "FAILED: $*" >&2
	exit 1
}
finish() {
	umount "$work/root/proc" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
[ "$(id -u)" = 0 ] || fail "it makes roots of its own: run it as root"
mkdir -p "$work"

if ! command -v debootstrap >/dev/null; then
	say "installing debootstrap"
	sh "$here/tools/apt-install.sh" debootstrap
fi

say "building the release twice, from two clones"
git clone -q "$here" "$work/one"
git clone -q "$here" "$work/elsewhere/two"
(cd "$work/one" && sh tools/dist.sh v0.1.0 >/dev/null)
(umask 077 && export TZ=Asia/Tokyo && cd "$work/elsewhere/two" && sh tools/dist.sh v0.1.0 >/dev/null)
diff "$work/one/dist/SHA256SUMS" "$work/elsewhere/two/dist/SHA256SUMS" || fail "the two releases differ"
(cd "$work/one/dist" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS"
say "the same bytes: $(wc -l <"$work/one/dist/SHA256SUMS") artifacts"
(cd "$work/elsewhere/two" && sh tools/dist.sh v0.1.1 >/dev/null)
old=$(ls "$work"/one/dist/*_amd64.deb) new=$(ls "$work"/elsewhere/two/dist/*_amd64.deb)

root=$work/root
say "making a root to install into"
. /etc/os-release
debootstrap --variant=minbase "$VERSION_CODENAME" "$root" >"$work/log" 2>&1 || fail "debootstrap: $(tail "$work/log")"
mount -t proc proc "$root/proc"
cp "$old" "$root/old.deb" && cp "$new" "$root/new.deb"
cp /etc/resolv.conf "$root/etc/resolv.conf"
in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
wants=$root/etc/systemd/system/multi-user.target.wants/ingest-serve.service
# Not by debootstrap --include, which cannot put their many dependencies in order.
in_root apt-get install -qq -y --no-install-recommends lintian rpm rpmlint systemd >"$work/log" 2>&1 || fail "installing lintian, rpmlint and systemd: $(tail "$work/log")"
in_root lintian --fail-on error --allow-root /old.deb || fail "lintian"
in_root dpkg -i /old.deb || fail "installing"
in_root useradd -m someone
in_root su someone -c 'ingest demo' >"$work/demo.txt" || fail "the demo, as an unprivileged user"
in_root su -s /bin/sh ingest -c 'ingest config check --config /etc/ingest/ingest.yaml' >/dev/null || fail "the config that it brings"
in_root systemd-analyze verify /lib/systemd/system/ingest-serve.service /lib/systemd/system/ingest.timer || fail "the units"
in_root systemctl enable ingest-serve && [ -L "$wants" ] || fail "enabling the service"
echo kept >"$root/var/lib/ingest/ingest.db" && echo '# mine' >>"$root/etc/ingest/ingest.yaml"
in_root dpkg --force-confold -i /new.deb || fail "upgrading"
grep -q mine "$root/etc/ingest/ingest.yaml" && grep -q kept "$root/var/lib/ingest/ingest.db" || fail "an upgrade lost config or data"
in_root ingest version | grep -q 0.1.1 || fail "not upgraded"
[ "$(in_root systemctl is-enabled ingest-serve)" = enabled ] || fail "an upgrade disabled the service"
if in_root dpkg -i /old.deb >"$work/downgrade.txt" 2>&1; then fail "a downgrade was not refused"; fi
grep -q 'is installed, which is newer' "$work/downgrade.txt" || fail "a downgrade was refused without a word: $(cat "$work/downgrade.txt")"
in_root dpkg --purge ingest >"$work/purge.txt" 2>&1 || fail "purging: $(cat "$work/purge.txt")"
grep -q 'left as it is: /var/lib/ingest' "$work/purge.txt" || fail "a purge did not say what it left: $(cat "$work/purge.txt")"
[ ! -e "$root/usr/bin/ingest" ] && [ -e "$root/var/lib/ingest/ingest.db" ] || fail "a purge removes the program and keeps data"
[ ! -L "$wants" ] || fail "a purge left the service enabled"
say "installed, enabled, upgraded, not downgraded, purged"

# Last, and in the root: it unpacks the files where their absolute names say.
cp "$work"/one/dist/*.x86_64.rpm "$root/one.rpm" && cp "$here/packaging/rpmlintrc" "$root/rpmlintrc"
in_root rpmlint -r /rpmlintrc /one.rpm >"$work/rpmlint.txt" || true # its exit code counts what the rpmlintrc allows
if grep ' E: ' "$work/rpmlint.txt" || ! grep -q '1 packages' "$work/rpmlint.txt"; then fail "rpmlint: $(tail -n 3 "$work/rpmlint.txt")"; fi
say "no errors of lintian and rpmlint"
in_root rpm -i --nodeps --dbpath /rpmdb /one.rpm || fail "installing the .rpm"
in_root su someone -c 'ingest demo' >"$work/demo.txt" || fail "the demo from the .rpm"
in_root rpm -e --nodeps --dbpath /rpmdb ingest || fail "removing the .rpm"
[ ! -e "$root/usr/bin/ingest" ] && [ -e "$root/var/lib/ingest/ingest.db" ] || fail "removing the .rpm removes the program and keeps data"
say "the .rpm is installed, runs the demo and is removed"

mkdir -p "$work/oci" "$work/image"
tar -xf "$work"/one/dist/ingest_*_oci.tar -C "$work/oci"
layer=$(for blob in "$work"/oci/blobs/sha256/*; do gzip -t "$blob" 2>/dev/null && tar -xzOf "$blob" ingest 2>/dev/null | head -c 20 | od -An -tx1 | grep -q '3e 00' && echo "$blob"; done | head -n 1)
[ -n "$layer" ] || fail "the image has no layer for amd64"
tar -xzf "$layer" -C "$work/image"
env -i "$(command -v unshare)" --user --map-root-user --root="$work/image" --wd=/ /ingest demo >"$work/image.txt" || fail "the image: $(tail -n 3 "$work/image.txt")"
say "the image runs the demo"
