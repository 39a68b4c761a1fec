package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/term"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the database while ingest is running",
		Args:  orAsk(cobra.ExactArgs(1), "back up into what? Give one file that is not there yet"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.backup(cmd.Context(), args[0])
		},
	}
}

type backupDocument struct {
	File       string `json:"file"`
	Bytes      int64  `json:"bytes"`
	Videos     int64  `json:"videos"`
	Placements int64  `json:"placements"`
	Slots      int64  `json:"slots"`
}

func (a *app) backup(ctx context.Context, file string) error {
	if file == "" {
		return usageError{errors.New("backup: give the name of a file that is not there yet")}
	}
	if a.cfg.Store != "sqlite" {
		return usageError{errors.New("backup: the store is in PostgreSQL, which pg_dump backs up")}
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
	if a.json {
		return a.printJSON(backupDocument{made.Path, made.Bytes, made.Videos, made.Placements, made.Slots})
	}
	if a.quiet {
		return nil
	}
	text := fmt.Sprintf("%s: %s, %s, %s, %s; examined, and sound", made.Path, term.Plural(int(made.Videos), "video"),
		term.Plural(int(made.Placements), "placement"), term.Plural(int(made.Slots), "slot"), term.Bytes(made.Bytes))
	_, err = fmt.Fprintln(a.stdout, term.Wrap(text, 80, "  "))
	return err
}
