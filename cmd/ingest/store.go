package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) storeCommand() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{Use: "store", Short: "Move the store", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	move := &cobra.Command{Use: "copy --from STORE --to STORE", Short: "Copy the store into another database", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.copyStore(cmd.Context(), from, to) }}
	move.Flags().StringVar(&from, "from", "", "sqlite, which is in --data, or the `URL` of a database in PostgreSQL")
	move.Flags().StringVar(&to, "to", "", "the same, for where nothing is yet: `URL` or sqlite")
	cmd.AddCommand(move)
	return cmd
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
	target, err := a.openStore(ctx, store.Options{Upstream: source.Upstream(), Upgraded: a.sayUpgraded})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	draw, wipe := term.RowProgress(a.stderr, a.quiet || a.json, drawEvery, tellEvery)
	got, err := source.CopyInto(ctx, target, store.CopyOptions{Progress: draw})
	wipe()
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
	if !a.quiet || a.json {
		err = a.show(doc)
	}
	if err == nil && got.Written {
		err = codeError{exitPartial, fmt.Errorf("%s was written to while it was copied: what came in since %s is not in the copy; stop what writes there, and copy it into an empty place", doc.From, term.Stamp(doc.At))}
	}
	return err
}
