package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/trendvidstream/ingest"
)

// checkProgram refuses a path that names no program.
func checkProgram(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("run: %s: write the whole path: no shell looks for it", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if !info.Mode().IsRegular() || os.PathSeparator == '/' && info.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("run: %s is not a program: chmod +x %s", path, path)
	}
	return nil
}

// environment returns a program's environment. It has no variable of ours, as one may hold a key.
func environment(e ingest.Event) []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
		"INGEST_EVENT=" + string(e.Name), "INGEST_EVENT_ID=" + e.Key}
}

// run gives the body to the program's standard input. At the end of ctx it kills the program and all that it began.
func (h Hook) run(ctx context.Context, e ingest.Event, body []byte) error {
	cmd := exec.CommandContext(ctx, h.Run)
	cmd.Env, cmd.Dir, cmd.Stdin = environment(e), string(filepath.Separator), bytes.NewReader(body)
	inGroup(cmd)
	cmd.WaitDelay = 100 * time.Millisecond // for children that still hold our pipe
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrWaitDelay) { // it ended well, and did not read all
		return nil
	}
	return err
}
