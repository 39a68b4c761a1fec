package ingest

import _ "embed"

// Schema is schema.sql: the tables of the store, ingest.db.
//
//go:embed schema.sql
var Schema string

// Costs is costs.yaml as it was shipped; a user's own replaces it with --costs.
//
//go:embed costs.yaml
var Costs []byte
