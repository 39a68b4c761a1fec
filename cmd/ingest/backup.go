package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/terms"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) backupCommand() *cobra.Command {
	expire := false
	cmd := command("backup FILE|DIRECTORY", "Back up the database while ingest is running",
		cobra.ArbitraryArgs, func(ctx context.Context, args []string) error {
			switch {
			case expire:
				return a.expireBackups(args)
			case len(args) != 1 || args[0] == "":
				return usageError{errors.New("back up into what? Give one file that does not exist yet, or a directory")}
			}
			return a.backup(ctx, args[0])
		})
	cmd.Flags().BoolVar(&expire, "expire", false,
		"delete old backups instead, in these directories or the directories of backups: in the config")
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
	return a.showDone(report.BackupDocument{Backup: made})
}

// expireBackups deletes backups that are older than the provider allows, if ingest backup chose their names.
func (a *app) expireBackups(dirs []string) error {
	tariff, err := a.tariff()
	if err != nil {
		return err
	}
	days := tariff.Policy[terms.Retention].Days
	switch {
	case days == 0:
		return usageError{fmt.Errorf("the costs of %s name no policy %s: nothing is too old",
			a.cfg.Upstream, terms.Retention)}
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
