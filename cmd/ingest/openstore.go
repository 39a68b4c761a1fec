package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/trendvidstream/ingest/store"
)

// store opens the store. host names the upstream whose data it will hold; "" opens it for reading,
// and then it must be there.
func (a *app) store(ctx context.Context, host string) (*store.Store, error) {
	return store.Open(ctx, a.cfg.Data, store.Options{Upstream: host, ReadOnly: host == "", Now: a.clock.Now, Upgraded: a.sayUpgraded})
}

// readStore opens the store for a command that only reads, and explains one that is not there yet.
func (a *app) readStore(ctx context.Context) (*store.Store, error) {
	s, err := a.store(ctx, "")
	if errors.Is(err, fs.ErrNotExist) {
		err = codeError{exitError, fmt.Errorf("nothing was fetched into %s yet: try ingest run, or give another --data", a.cfg.Data)}
	}
	return s, err
}

// checkStore refuses a store that cannot be used, and brings one of an older version up to date, for host.
func (a *app) checkStore(ctx context.Context, host string) error {
	s, err := a.store(ctx, "")
	if version, ok := errors.AsType[*store.VersionError](err); ok && version.Have < version.Know {
		s, err = a.store(ctx, host)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return s.Close()
}

// sayUpgraded says that a store was brought up to date, and where it is as it was.
func (a *app) sayUpgraded(from, to int, backup string) {
	a.say("ingest: the store was brought from version %d to %d; as it was it is in %s", from, to, backup)
}
