package main

import (
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/tracing"
)

// version is set by the linker.
var version = "dev"

// app is one run of the program.
type app struct {
	console
	flags   config.Flags
	cfg     *config.Config
	clock   *config.Clock
	started bool            // past the arguments: errors are no longer usage errors
	traces  *tracing.Tracer // of what is fetched; nil: off

	// wrapPass may wrap the parts of a pass before it begins. It is nil except in tests.
	wrapPass func(*fetch.Reconciler)
}
