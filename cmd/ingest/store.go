package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) storeCommand() *cobra.Command {
	var from, to string
	move := command("copy --from STORE --to STORE", "Copy the store into another database",
		noArgs, func(ctx context.Context, _ []string) error {
			return a.copyStore(ctx, from, to)
		})
	move.Flags().StringVar(&from, "from", "", "sqlite, which is in --data, or the `URL` of a database in PostgreSQL")
	move.Flags().StringVar(&to, "to", "", "the target, which must be empty: `URL` or sqlite")
	return group("store", "Move the store", move)
}

func (a *app) copyStore(ctx context.Context, from, to string) (err error) {
	if from == "" || to == "" || from == to {
		return usageError{
			errors.New("store copy: say from where and to where, such as --from sqlite --to postgres://user@host/database")}
	}
	if err := cmp.Or(config.CheckStore(from), config.CheckStore(to)); err != nil {
		return err
	}
	a.cfg.Store = from
	doc := report.Copied{From: a.storeName(), Outcome: "copied", Tables: []ingest.CopiedTable{}}
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
		doc.Tables, doc.Rows = append(doc.Tables, t), doc.Rows+t.Rows
	}
	if err = a.showDone(doc); err == nil && got.Written {
		err = codeError{exitPartial, fmt.Errorf("%s was written to while it was copied: rows written since %s are not "+
			"in the copy; stop the processes that write there, and copy it into an empty place", doc.From, term.Stamp(doc.At))}
	}
	return err
}
