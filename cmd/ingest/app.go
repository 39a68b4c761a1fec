package main

import (
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/tracing"
)

// app is one run of the program.
type app struct {
	console
	flags   config.Flags
	cfg     *config.Config
	clock   *config.Clock
	started bool            // past the arguments: an error is no longer one of usage
	traces  *tracing.Tracer // of what is fetched; nil: off

	// wrapPass may put something around the parts of a pass before it begins. The program leaves it nil.
	wrapPass func(*fetch.Reconciler)
}
