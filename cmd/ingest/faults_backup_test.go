//go:build unix

package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/config"
)

// TestFaultBackupKilled kills a backup at random moments, more often with SOAK set: a file with its final name is
// complete, and the next backup into the same file removes the leftovers.
func TestFaultBackupKilled(t *testing.T) {
	t.Parallel()
	p := newFetched(t)
	c := &crowd{programRig: p}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 5))
	began := time.Now()
	code, _, errs := p.do(nil, "backup", p.copyOf(0))
	p.want(code == exitOK, "a backup: exit %d: %s", code, errs)
	whole, kills, left := time.Since(began), 8, 0
	if os.Getenv(soakEnv) != "" {
		kills = 200
	}
	made := 1
	for range kills {
		p.killWithin(random, whole, "backup", p.copyOf(made))
		parts, err := filepath.Glob(p.copyOf(made) + ".part-*")
		if err != nil {
			t.Fatal(err)
		}
		left += min(len(parts), 1)
		if config.FileExists(p.copyOf(made)) {
			made++
		}
	}
	for i := range made + 1 { // again into each; all but the last exist
		code, _, errs := p.do(nil, "backup", p.copyOf(i))
		p.want(code == exitOK || i < made && strings.Contains(errs, "file already exists"), "backup %d: exit %d: %s", i, code, errs)
	}
	c.sound(made + 1)
	t.Logf("%d backups killed, of which %d left a part: seed %d", kills, left, seed)
	p.judge("store: a backup killed")
}

// TestFaultBackupOntoAFullDisk has no room for the copy: the error says so, and nothing of the copy stays.
func TestFaultBackupOntoAFullDisk(t *testing.T) {
	t.Parallel()
	p := newFetched(t)
	for _, room := range []int{8, 64, 256} { // KiB
		dir := t.TempDir()
		left := filepath.Join(p.dir, "left")
		cmd, out, errs := p.command(nil, "backup", filepath.Join(dir, "copy.db"))
		if !mounting(t, cmd, fmt.Sprintf("mount -t tmpfs -o size=%dk none %s", room, quoted(dir))) {
			cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", fileSizeEnv, room<<10))
		} else { // the mounted files are gone with the process
			cmd.Args[2] = strings.Replace(cmd.Args[2], ` && exec "$0" "$@"`, ` && { "$0" "$@"; code=$?; ls -A `+quoted(dir)+` >`+quoted(left)+`; exit $code; }`, 1)
		}
		_ = cmd.Run()
		code := cmd.ProcessState.ExitCode()
		full := strings.Contains(errs.String(), "copy.db") && strings.Contains(errs.String(), "no room on the disk of")
		if !mayMount() { // the file size limit gives another error
			full = full || strings.Contains(errs.String(), "check the space left")
		}
		p.want(code == exitError && full, "%d KiB of room: exit %d: %s%s", room, code, out, errs)
		names, err := os.ReadFile(left)
		if err != nil && mayMount() {
			t.Error(err)
		}
		entries, err := os.ReadDir(dir)
		p.want(err == nil && len(entries) == 0 && len(names) == 0, "%d KiB of room: it left %s%v (%v)", room, names, entries, err)
	}
	p.want(p.force() == exitOK, "no run after it")
	p.judge("store: a backup onto a full disk")
}
