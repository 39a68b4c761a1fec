package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// Engine is a database other than SQLite that can hold a store. The store's SQL is written once, in this package, in a
// dialect that both understand; an engine provides connections that run it, and everything that is not SQL. Its
// video_words is a table, which has the number of videos of each word ready.
type Engine struct {
	Name string // for people: where the database is, without a password

	// Write begins transactions that run one at a time, as in SQLite; Read begins ones that see one snapshot. Both
	// accept this package's SQL: numbered or plain question marks, MATCH on the index video_text.
	Write, Read *sql.DB // Write is nil when read-only

	Check   func(ctx context.Context, tx *sql.Tx) error  // an error ends the write transaction
	Clock   func(ctx context.Context) (time.Time, error) // of the database; ingest.ErrNoWrites if it takes no writes
	Explain func(err error) (hint string)                // the cure, for a person; "": not known
	Away    func(err error) bool                         // the database is not reachable: ingest.ErrStoreSilent

	// the highest backfill ID ever assigned
	LastBackfill func(ctx context.Context, tx *sql.Tx) (int64, error)
	// after inserts with given IDs: assign only higher ones
	AdvanceSequences func(ctx context.Context, tx *sql.Tx, lastBackfill int64) error
}

// ErrMissing means that the store's database has no store yet.
var ErrMissing = fmt.Errorf("nothing was written there yet: %w", fs.ErrNotExist)

// plainPage makes the page's texts Plain, IDs too, as the page must name a video as the table does.
func plainPage(page ingest.Page) ingest.Page {
	page.Videos = slices.Clone(page.Videos)
	for i := range page.Videos {
		v := &page.Videos[i]
		for _, text := range []*string{&v.ID, &v.Title, &v.Channel, &v.ChannelID, &v.Category, &v.Language,
			&v.Thumbnail, &v.Description} {
			*text = Plain(*text)
		}
		v.Tags = slices.Clone(v.Tags)
		for j, tag := range v.Tags {
			v.Tags[j] = Plain(tag)
		}
	}
	return page
}

// separator divides the values of a hit, and is in no stored text.
const separator = "\x1f"

var unstored = strings.NewReplacer("\x00", "", separator, "")

// Plain returns a text as it is stored: without NUL, which SQLite cannot read from JSON and Postgres cannot store,
// without the separator of a hit's values, and with a replacement character for each run of invalid UTF-8.
func Plain(text string) string {
	return strings.ToValidUTF8(unstored.Replace(text), "\uFFFD")
}

// explain adds the operation and a hint to err.
func (e *Engine) explain(ctx context.Context, doing string, err error) error {
	hint := e.Explain(err)
	switch {
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	case hint == "":
		return fmt.Errorf("%s: %w", doing, err)
	case e.Away(err):
		return fmt.Errorf("%s: %w: %s: %s: %w", doing, ingest.ErrStoreSilent, e.Name, hint, err)
	}
	return fmt.Errorf("%s: %s: %s: %w", doing, e.Name, hint, err)
}
