package store

import _ "embed"

// FileName is the name of the database file in the data directory.
const FileName = "ingest.db"

// applicationID marks the file as a store of this program: "ingt".
const applicationID = 0x696E6774

//go:embed migrations/2.sql
var toVersion2 string

//go:embed migrations/3.sql
var toVersion3 string

// steps bring an older store up to date: steps[0] makes version 2 of version 1, and so on. A new
// store is made by ingest.Schema alone, which is always the newest version. Foreign keys are enforced
// while a step runs.
var steps = []string{toVersion2, toVersion3}

// normalized is the version since which the index holds what Normalize makes of a text today.
const normalized = 2

// version is the version of ingest.Schema.
var version = 1 + len(steps)

// Version is the version of the tables that this program reads and writes.
func Version() int { return version }
