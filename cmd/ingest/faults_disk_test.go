//go:build unix

package main_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// TestFaultDisk takes the disk away from the program: a call that cannot be journalled is not requested.
func TestFaultDisk(t *testing.T) { withoutDisk(t, "sqlite") }

func TestLongFaultDisk(t *testing.T) { withoutDisk(t, "redis") }

func withoutDisk(t *testing.T, ledgers ...string) {
	t.Helper()
	t.Parallel()
	for _, ledger := range ledgers {
		t.Run("full, "+ledger, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, ledger, 250, youtubesim.Options{})
			p.force()
			// No file may grow any more: small writes within the present size still succeed.
			failed := 0
			for _, beyond := range []int64{0, 4096, 20_000, 100_000}[:fewer(4, 1)] {
				p.nextSecond()
				p.expireLeases()
				size := fmt.Sprintf("%s=%d", fileSizeEnv, p.largest()+beyond)
				code, _, errs := p.do([]string{size}, "run", "--quiet", "--force")
				p.want(code == exitError || code == exitUnavailable || code == exitPartial || code == exitOK, "with the disk full: exit %d: %s", code, errs)
				p.inDoubt++
				if code != exitOK {
					failed++
				}
			}
			p.want(failed > 0, "the disk was never full")
			p.nextSecond()
			code := p.force()
			p.want(code == exitOK, "with room again: exit %d", code)
			p.judge("the disk full, " + ledger)
		})
		t.Run("full before it begins, "+ledger, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, ledger, 250, youtubesim.Options{})
			code, _, errs := p.do([]string{fileSizeEnv + "=4096"}, "run", "--quiet", "--force")
			p.want(code == exitError || code == exitUnavailable || code == exitConfig, "with the disk full: exit %d: %s", code, errs)
			p.want(p.sim.Ledger().Units["units"] == 0, "%d units were spent with the disk full", p.sim.Ledger().Units["units"])
			code = p.force()
			p.want(code == exitOK, "with room: exit %d", code)
			p.judge("the disk full before it begins, " + ledger)
		})
		t.Run("read-only, "+ledger, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, ledger, 250, youtubesim.Options{})
			p.force()
			before := p.sim.Ledger().Units["units"]
			p.nextSecond()
			p.expireLeases()
			code, _, errs := p.unprivileged("run", "--quiet", "--force")
			p.want(code == exitError || code == exitUnavailable || code == exitConfig, "with the data directory read-only: exit %d: %s", code, errs)
			p.want(p.sim.Ledger().Units["units"] == before, "units were spent with the data directory read-only")
			code = p.force()
			p.want(code == exitOK, "writable again: exit %d", code)
			p.judge("the data directory read-only, " + ledger)
		})
	}
}

// nextSecond moves to when a run has work again.
func (p *programRig) nextSecond() { p.through = true }

// largest returns the size of the largest file in the data directory.
func (p *programRig) largest() int64 {
	entries, err := os.ReadDir(p.data())
	if err != nil {
		p.Fatal(err)
	}
	largest := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			largest = max(largest, info.Size())
		}
	}
	return largest
}

// readOnly runs the program without write access to its data directory: mounted read-only, or else as another user.
func (p *programRig) readOnly(args ...string) (code int, out, errs string) {
	p.Helper()
	cmd, stdout, stderr := p.command(nil, args...)
	if !mounting(p.T, cmd, "mount --bind "+quoted(p.data())+" "+quoted(p.data())+" && mount -o remount,bind,ro "+quoted(p.data())) {
		return p.unprivileged(args...)
	}
	return p.exit(cmd), stdout.String(), stderr.String()
}

// unprivileged runs the program without the permission to write its data directory. Root may write under any mode, so
// it runs as an unprivileged user.
func (p *programRig) unprivileged(args ...string) (code int, out, errs string) {
	p.Helper()
	cmd, stdout, stderr := p.command(nil, args...)
	if os.Getuid() == 0 {
		everybody := p.publicDir()
		// Another process copies the program: a process that this one starts meanwhile would hold it open, and no
		// file that is open to be written can be run. https://github.com/golang/go/issues/22315
		for _, step := range []error{
			copyTree(p.dir, filepath.Join(everybody, "rig")), exec.Command("cp", cmd.Path, filepath.Join(everybody, "ingest")).Run(),
		} {
			if step != nil {
				p.Fatal(step)
			}
		}
		for i, arg := range cmd.Args {
			if rel, err := filepath.Rel(p.dir, arg); err == nil && filepath.IsAbs(arg) && filepath.IsLocal(rel) {
				cmd.Args[i] = filepath.Join(everybody, "rig", rel)
			}
		}
		cmd.Path = filepath.Join(everybody, "ingest")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	} else {
		p.modes(0o500, 0o400)
		defer p.modes(0o700, 0o600)
	}
	return p.exit(cmd), stdout.String(), stderr.String()
}

// publicDir returns a directory that an unprivileged user, too, may enter and write.
func (p *programRig) publicDir() string {
	dir, err := os.MkdirTemp("/tmp", "faults-")
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		p.Fatal(err)
	}
	return dir
}

// modes sets the modes of the data directory and its files.
func (p *programRig) modes(dir, file os.FileMode) {
	entries, err := os.ReadDir(p.data())
	if err != nil {
		p.Fatal(err)
	}
	for _, e := range entries {
		_ = os.Chmod(filepath.Join(p.data(), e.Name()), file)
	}
	_ = os.Chmod(p.data(), dir)
}

// copyTree copies a file or a directory, readable by everybody and writable by its owner only.
func copyTree(from, to string) error {
	return filepath.Walk(from, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if info.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = in.Close() }()
		out, err := os.OpenFile(filepath.Join(to, rel), os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
		return out.Close()
	})
}

// TestLongAServeWhoseStoreTakesNoWritesIsNotReady: its charts are fresh for an hour yet, and can be read.
func TestLongAServeWhoseStoreTakesNoWritesIsNotReady(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	at(t, "2026-02-14T09:40:00Z")
	ingestCode(t, exitOK, "run")
	at(t, "2026-02-14T10:07:31Z") // DE has just come due
	quickHeart(t)
	t.Setenv(fileSizeEnv, "33000") // as much as opening needs
	d := startServe(t)
	d.until("it has tried to fetch what is due", func() bool { return strings.Contains(d.stderr.String(), "nothing can be fetched now") })
	d.until("the workers are said to rest", func() bool { return !d.check("workers").OK })
	d.until("the ledger is asked", func() bool { return d.check("ledger").OK })
	code, body := d.get("readyz")
	if code != http.StatusServiceUnavailable {
		t.Errorf("/readyz: got %d, want 503: %s", code, body)
	}
	for text, want := range map[string]int{"FAIL": 2, "no room on the disk": 1, "the workers pause": 1, "claim a slot": 1} {
		if got := strings.Count(body, text); got != want {
			t.Errorf("/readyz: got %q %d times, want %d: %s", text, got, want, body)
		}
	}
	if _, page := d.get("status"); !strings.Contains(page, "Nothing is fetched now.</span></h1><p>The workers pause until ") {
		t.Errorf("the page says %s", page)
	}
	for range 10 { // heartbeats at which another has spent, which the store cannot note
		ingestCode(t, exitOK, "quota", "take", "videos.list")
		time.Sleep(200 * time.Millisecond)
	}
	said := map[string]bool{}
	for line := range strings.Lines(d.stderr.String()) {
		_, text, _ := strings.Cut(line, " ") // without its time
		if said[text] {
			t.Error("said twice: ", text)
		}
		said[text] = true
	}
	d.end(syscall.SIGTERM)
}
