package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/trendvidstream/ingest"
)

// Engine is a database other than SQLite that a store may lie in. What a store does is written once, in this package and
// in SQL that both understand; an engine brings connections that run that SQL, and what is not SQL.
type Engine struct {
	Name string // for people: where it is, without a password

	// Write begins transactions of which one runs at a time, as those of SQLite do, and Read such that see one unchanging
	// state. Both run SQL as this package writes it: numbered or plain question marks, MATCH for the index video_text.
	Write, Read *sql.DB // Write is nil when read-only

	Check   func(ctx context.Context, tx *sql.Tx) error // ends a transaction to write that must not go on; nil: none must
	Version func(ctx context.Context) (string, error)   // see Store.Version
	Explain func(err error) (hint string)               // what a person may do about it, "" where that is not known
	Plain   func(text string) string                    // what the engine can keep of a text, the same where it can keep all; nil: all

	LastBackfill func(ctx context.Context, tx *sql.Tx) (int64, error)            // the largest number that a backfill was ever given
	Filled       func(ctx context.Context, tx *sql.Tx, lastBackfill int64) error // rows came with their numbers: give larger ones from now on

	Close func() error // of what is behind the connections; nil: nothing is
}

// ErrMissing is a store in an engine that nothing was written to yet.
var ErrMissing = fmt.Errorf("nothing was written there yet: %w", fs.ErrNotExist)

// ErrUnavailable is a store in an engine that cannot be reached now.
var ErrUnavailable = errors.New("the store is not reachable")

// plain is a page as the engine can keep it: see Plain. What cannot be kept of an id is left out of it too, since the page
// must name a video as the table does.
func (e *Engine) plain(page ingest.Page) ingest.Page {
	if e == nil || e.Plain == nil {
		return page
	}
	page.Videos = slices.Clone(page.Videos)
	for i := range page.Videos {
		v := &page.Videos[i]
		for _, text := range []*string{&v.ID, &v.Title, &v.Channel, &v.ChannelID, &v.Category, &v.Language, &v.Thumbnail} {
			*text = e.Plain(*text)
		}
		v.Tags = slices.Clone(v.Tags)
		for j, tag := range v.Tags {
			v.Tags[j] = e.Plain(tag)
		}
	}
	return page
}

// explain says what was being done, and what to try.
func (e *Engine) explain(ctx context.Context, doing string, err error) error {
	hint := e.Explain(err)
	switch {
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	case hint == "":
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %s: %s: %w", doing, e.Name, hint, err)
}
