//go:build unix

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/store"
)

// withoutWriting is the behaviour of each command if the data directory cannot be written: one that reads the store
// works, and one that must write says why it cannot, and spends nothing. {} is a writable directory.
var withoutWriting = []struct {
	command string
	code    int
	says    string
}{
	{"search the", exitOK, ""},
	{"chart US", exitOK, "US, slot "},
	{"slots", exitOK, ""},
	{"slots --next 2", exitOK, ""},
	{"metrics", exitOK, "ingest_quota_limit"},
	{"backup {}/copy.db", exitOK, "sound"},
	{"run --force", exitConfig, "check the owner and the mode of the file and its directory"},
	{"quota", exitOK, "left:"},
	{"quota take videos.list", exitConfig, "may be written"},
	{"quota rebuild", exitConfig, "cannot"},
	{"backup copy.db", exitConfig, "give a file in a directory that can be written"},
	{"doctor", exitConfig, "cannot be written"},
	{"doctor --repair", exitConfig, "see that the disk has room and can be written"},
}

// TestFaultReadOnly mounts the data directory read-only under every command.
func TestFaultReadOnly(t *testing.T) {
	t.Parallel()
	p := newFetched(t)
	p.now = p.now.Add(time.Minute)
	before, sent := p.listing(), p.sim.Ledger().Units["units"]
	for _, tt := range withoutWriting {
		command := strings.ReplaceAll(tt.command, "{}", p.publicDir())
		command = strings.ReplaceAll(command, " copy.db", " "+filepath.Join(p.data(), "copy.db"))
		code, out, errs := p.readOnly(strings.Fields(command)...)
		said := strings.Join(strings.Fields(out+errs), " ")
		ok := code == tt.code && strings.Contains(said, tt.says)
		if !mayMount() { // another user than the owner may be refused as such
			ok = ok || code == exitConfig && tt.code != exitOK
		}
		p.want(ok, "ingest %s: exit %d, want %d and %q: %s", command, code, tt.code, tt.says, said)
	}
	p.want(p.listing() == before, "the data directory holds %s, and held %s", p.listing(), before)
	p.want(p.sim.Ledger().Units["units"] == sent, "units were spent")
	p.want(p.force() == exitOK, "no run where it can be written again")
	p.judge("store: every command with the data directory read-only")
}

// TestFaultStoreFileReadOnly makes only ingest.db read-only.
func TestFaultStoreFileReadOnly(t *testing.T) {
	t.Parallel()
	p := newFetched(t)
	p.now = p.now.Add(time.Minute)
	sent := p.sim.Ledger().Units["units"]
	file := quoted(filepath.Join(p.data(), store.FileName))
	for command, code := range map[string]int{"search the": exitOK, "chart US": exitOK, "run --force": exitConfig, "doctor": exitConfig} {
		cmd, out, errs := p.command(nil, strings.Fields(command)...)
		if mounting(t, cmd, "mount --bind "+file+" "+file+" && mount -o remount,bind,ro "+file) {
			_ = cmd.Run()
			said := strings.Join(strings.Fields(out.String()+errs.String()), " ")
			p.want(cmd.ProcessState.ExitCode() == code, "ingest %s: exit %d, want %d: %s", command, cmd.ProcessState.ExitCode(), code, said)
			p.want(code == exitOK || strings.Contains(said, "mounted read-only"), "ingest %s says %s", command, said)
		}
	}
	p.want(p.sim.Ledger().Units["units"] == sent, "units were spent")
	p.want(p.force() == exitOK, "no run where it can be written again")
	p.judge("store: ingest.db read-only")
}

// TestAConfigOfTheMachineThatCannotBeReadIsNotPassedOver: a run by its defaults may count in another ledger.
func TestAConfigOfTheMachineThatCannotBeReadIsNotPassedOver(t *testing.T) {
	t.Parallel()
	cmd, out, errs := newFetched(t).command(nil)
	cmd.Args = []string{cmd.Path, "config", "check", "--data", t.TempDir()}
	cmd.Env = append(cmd.Env, "HOME="+t.TempDir(), "XDG_CONFIG_HOME=", "INGEST_CONFIG=")
	if !mounting(t, cmd, "mount -t tmpfs none /etc && : >/etc/ingest") { // root is kept out of no directory: this is none
		return
	}
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitConfig || !strings.Contains(errs.String(), "/etc/ingest/ingest.yaml") {
		t.Errorf("exit %d, want %d: %s%s", code, exitConfig, out, errs)
	}
}

// listing returns the names and sizes of the files in the data directory.
func (p *programRig) listing() string {
	entries, err := os.ReadDir(p.data())
	if err != nil {
		p.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			p.Fatal(err)
		}
		names = append(names, fmt.Sprintf("%s (%d)", e.Name(), info.Size()))
	}
	return strings.Join(names, " ")
}
