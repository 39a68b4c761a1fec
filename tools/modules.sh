#!/bin/sh
# The modules that are linked into ingest, and their newest releases: make modules writes docs/modules.md with it.
set -eu
linked=$(go list -deps -tags grpcnotrace -f '{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}' ./cmd/ingest | sort -u)
cat <<HEAD
# Linked modules

What \`go build ./cmd/ingest\` links, and when each version was released. "newer" is the newest release, if
there was a later one on $(date -u +%Y-%m-%d). \`make modules\` writes this list, \`make vuln\` looks all of them up in Go's database of
vulnerabilities.

| module | version | released | newer |
|---|---|---|---|
HEAD
# shellcheck disable=SC2086 # one argument each
go list -m -u -f '| `{{.Path}}` | {{.Version}} | {{.Time.Format "2006-01-02"}} | {{with .Update}}{{.Version}}, {{.Time.Format "2006-01-02"}}{{end}} |' $linked
