package ingest

import _ "embed"

// Schema is schema.sql: the tables of the store, ingest.db.
//
//go:embed schema.sql
var Schema string

// Costs is costs.yaml as shipped; --costs replaces it with the user's own.
//
//go:embed costs.yaml
var Costs []byte
