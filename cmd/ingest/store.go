package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) storeCommand() *cobra.Command {
	var from, to string
	move := command("copy --from STORE --to STORE", "Copy the store into another database", noArgs, func(ctx context.Context, _ []string) error {
		return a.copyStore(ctx, from, to)
	})
	move.Flags().StringVar(&from, "from", "", "sqlite, which is in --data, or the `URL` of a database in PostgreSQL")
	move.Flags().StringVar(&to, "to", "", "the same, for where nothing is yet: `URL` or sqlite")
	return group("store", "Move the store", move)
}

func (a *app) copyStore(ctx context.Context, from, to string) (err error) {
	if from == "" || to == "" || from == to {
		return usageError{errors.New("store copy: say from where and to where, such as --from sqlite --to postgres://user@host/database")}
	}
	if err := cmp.Or(config.CheckStore(from), config.CheckStore(to)); err != nil {
		return err
	}
	a.cfg.Store = from
	doc := report.Copied{From: a.storeName(), Outcome: "copied", Tables: []report.CopiedTable{}}
	source, err := a.readStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	a.cfg.Store = to
	doc.To = a.storeName()
	target, err := a.openStore(ctx, store.Options{Upstream: source.Upstream()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	tell, stop := a.showRows(ctx)
	got, err := source.CopyInto(ctx, target, store.CopyOptions{Progress: tell})
	stop()
	if err != nil {
		return err
	}
	doc.At, doc.SourceWritten, doc.RowsChanged = term.Second(got.At), got.Written, got.Plain
	if got.Already {
		doc.Outcome = "there"
	}
	for _, t := range got.Tables {
		doc.Tables, doc.Rows = append(doc.Tables, report.CopiedTable{Table: t.Name, Rows: t.Rows, Hash: t.Hash}), doc.Rows+t.Rows
	}
	if err = a.showDone(doc); err == nil && got.Written {
		err = codeError{exitPartial, fmt.Errorf("%s was written to while it was copied: what came in since %s is not in the copy; stop what writes there, and copy it into an empty place", doc.From, term.Stamp(doc.At))}
	}
	return err
}

func (a *app) backupCommand() *cobra.Command {
	expire := false
	cmd := command("backup FILE|DIRECTORY", "Back up the database while ingest is running",
		cobra.ArbitraryArgs, func(ctx context.Context, args []string) error {
			switch {
			case expire:
				return a.expireBackups(args)
			case len(args) != 1 || args[0] == "":
				return usageError{errors.New("back up into what? Give one file that is not there yet, or a directory")}
			}
			return a.backup(ctx, args[0])
		})
	cmd.Flags().BoolVar(&expire, "expire", false, "delete the backups that are too old instead, in these directories or those of backups: in the config")
	return cmd
}

func (a *app) backup(ctx context.Context, file string) error {
	if a.cfg.Store != "sqlite" {
		return usageError{errors.New("backup: the store is in PostgreSQL, which pg_dump backs up")}
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = store.BackupName(file, a.clock.Now())
	}
	s, err := a.readStore(ctx)
	if err != nil {
		return err
	}
	made, err := s.Backup(ctx, file)
	if err := errors.Join(err, s.Close()); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: give another name, or move it away", err)
		}
		return err
	}
	return a.showDone(report.BackupDocument{File: made.Path, Bytes: made.Bytes, Videos: made.Videos, Placements: made.Placements, Slots: made.Slots})
}

// expireBackups deletes the backups that backup has named itself and that are older than the provider allows.
func (a *app) expireBackups(dirs []string) error {
	tariff, err := a.tariff()
	if err != nil {
		return err
	}
	days := tariff.Policy[quota.Retention].Days
	switch {
	case days == 0:
		return usageError{fmt.Errorf("the costs of %s name no policy %s: nothing is too old", a.cfg.Upstream, quota.Retention)}
	case len(dirs) == 0 && len(a.cfg.Backups) == 0:
		return usageError{errors.New("expire backups in which directory? Name it, or list it under backups: in the config")}
	case len(dirs) == 0:
		dirs = a.cfg.Backups
	}
	deleted, err := store.ExpireBackups(dirs, a.clock.Now().AddDate(0, 0, -days))
	if err != nil {
		return err
	}
	return a.showDone(report.ExpiredDocument{Deleted: append([]string{}, deleted...), Days: days})
}
