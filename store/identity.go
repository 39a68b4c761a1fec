package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// identity is what a file says of itself.
type identity struct {
	version  int
	upstream string // "" when nobody has written to it yet
}

// identify reads who the file is, and refuses what is not ours to read.
func identify(ctx context.Context, d *database) (identity, error) {
	var id identity
	err := d.view(ctx, "open the store", func(tx *txn) error {
		var application uint32
		if err := tx.QueryRowContext(ctx, `SELECT application_id, user_version FROM pragma_application_id, pragma_user_version`).
			Scan(&application, &id.version); err != nil {
			return err
		}
		if application != applicationID {
			return &ApplicationError{Path: d.path, ID: application}
		}
		if id.version < 1 {
			return &CorruptError{Path: d.path, Doing: "open the store", Err: fmt.Errorf("the header says that it has version %d, which there is not", id.version)}
		}
		if id.version > version {
			return &VersionError{Path: d.path, Have: id.version, Know: version}
		}
		err := tx.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'upstream'`).Scan(&id.upstream)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if isUnknownFormat(err) {
		return id, &CorruptError{Path: d.path, Doing: "open the store", Err: err}
	}
	return id, err
}

// claimFor remembers the upstream of a store that has none yet.
func claimFor(ctx context.Context, d *database, upstream string) error {
	return d.tx(ctx, "remember the upstream of the store", func(tx *txn) error {
		var have string
		err := tx.QueryRowContext(ctx, `
			INSERT INTO meta (name, value) VALUES ('upstream', ?)
			ON CONFLICT (name) DO UPDATE SET value = value
			RETURNING value`, upstream).Scan(&have)
		if err == nil && have != upstream {
			return &UpstreamError{Have: have, Want: upstream, Path: d.path}
		}
		return err
	})
}
