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
		Short: "Copy the store into a new file, while everything goes on",
		Long: `backup copies the store, ingest.db, into FILE, as of one moment: run, serve and
search go on meanwhile. The copy is a store of its own, of mode 0600, and is
examined before it gets its name; a FILE that is there is left alone. Until then
it is FILE.part-N: what a backup that was killed has left of it, the next one
into the same FILE removes.

To restore it, stop everything and put FILE in the place of ingest.db; remove
ingest.db-wal and ingest.db-shm. A command refuses to fetch when quota.db does
not know what the restored slots spent.

quota.db is not in it, on purpose: what has been spent since a copy was made
would be spent again with the copy. Keep quota.db as it is; should it be lost,
ingest quota rebuild counts again what the store's slots spent.`,
		Example: "  ingest backup /backups/ingest-$(date +%F).db",
		Args:    orAsk(cobra.ExactArgs(1), "back up into what? Give one file that is not there yet"),
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
