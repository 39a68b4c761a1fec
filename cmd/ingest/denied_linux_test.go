package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// denied are files that the stranger, an unprivileged user, cannot use as a command needs to.
type denied struct {
	name  string
	plant func(t *testing.T, dir, data string) (given string, err error) // the stranger owns data; given is the --data of the commands
	cure  []string                                                       // one of them is in the message of every command that is refused
	reads bool                                                           // commands that only read work
}

var deniedStates = []denied{
	{"a directory above may not be entered", func(_ *testing.T, dir, data string) (string, error) {
		return data, os.Chmod(dir, 0o700)
	}, []string{"run this with sudo, or give another directory"}, false},
	{"another user's private directory", func(_ *testing.T, _, data string) (string, error) {
		return data, os.Chown(data, 1, 1)
	}, []string{"run this with sudo -u "}, false},
	{"a service's directory, behind systemd's link", func(_ *testing.T, dir, data string) (string, error) {
		private, link := filepath.Join(dir, "private"), filepath.Join(dir, "service")
		return link, firstError(os.Mkdir(private, 0o700), os.Rename(data, filepath.Join(private, "service")),
			os.Chown(filepath.Join(private, "service"), 61200, 61200), os.Symlink("private/service", link))
	}, []string{"run this with sudo, or give another directory"}, false},
	{"nothing, in a directory that may not be entered", func(_ *testing.T, dir, data string) (string, error) {
		return filepath.Join(dir, "none"), os.Chmod(dir, 0o700)
	}, []string{"run this with sudo, or give another directory"}, false},
	{"a file", func(_ *testing.T, dir, _ string) (string, error) {
		return filepath.Join(filepath.Dir(dir), "ids"), nil
	}, []string{"is a file, not a directory: give another", "is a file, not a directory -> give another"}, false},
	{"root's files", func(_ *testing.T, _, data string) (string, error) {
		return data, firstError(os.Chown(filepath.Join(data, "ingest.db"), 0, 0), os.Chown(filepath.Join(data, ledgerFile), 0, 0))
	}, []string{"check the owner and the mode", "check that it and its directory may be written", "chown -R"}, false},
	{"a directory without the right to write", func(_ *testing.T, _, data string) (string, error) {
		return data, os.Chmod(data, 0o500)
	}, []string{"check the owner and the mode", "check that it and its directory may be written", "make its mode 0700"}, true},
	{"an immutable directory", func(t *testing.T, _, data string) (string, error) {
		if err := exec.CommandContext(t.Context(), "chattr", "+i", data).Run(); err != nil {
			t.Skip("chattr: no immutable files here")
		}
		t.Cleanup(func() { _ = exec.Command("chattr", "-i", data).Run() })
		return data, nil
	}, []string{"check the owner and the mode", "check that it and its directory may be written", "make its mode 0700"}, true},
	{"files without the right to write", func(_ *testing.T, _, data string) (string, error) {
		return data, firstError(os.Chmod(filepath.Join(data, "ingest.db"), 0o400), os.Chmod(filepath.Join(data, ledgerFile), 0o400))
	}, []string{"check the owner and the mode", "check that it and its directory may be written", "chmod u+w"}, true},
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Every command says which right a user lacks, and the way to it, and ends with 78. One that only reads works where
// the files can be read.
func TestAUserWithoutRightsIsToldTheWay(t *testing.T) {
	deniedCommands(t, [][]string{{"run", "--force"}}, [][]string{{"quota"}}, 2)
}

func TestLongAUserWithoutRightsIsToldTheWay(t *testing.T) {
	deniedCommands(t, [][]string{
		{"run", "--force"}, {"quota", "take", "videos.list"}, {"quota", "rebuild"}, {"backfill", "plan", "videos", "$/ids"}, {"doctor"},
		{"gateway", "--listen", "127.0.0.1:0"}, {"serve", "--listen", "127.0.0.1:0"},
	}, [][]string{{"quota"}, {"slots"}, {"search", "the"}, {"chart", "US"}, {"metrics"}}, 1)
}

// deniedCommands tries one in share states.
func deniedCommands(t *testing.T, writing, reading [][]string, share int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: only root can run a program as another user")
	}
	whole := newWard(t).data
	for i, state := range deniedStates {
		if i%share != 0 {
			continue
		}
		t.Run(state.name, func(t *testing.T) {
			top := (&programRig{T: t}).publicDir()
			dir := filepath.Join(top, "dir")
			data := filepath.Join(dir, "data")
			must(t, os.Chmod(top, 0o755), os.Mkdir(dir, 0o755), os.CopyFS(data, os.DirFS(whole)), os.WriteFile(filepath.Join(top, "ids"), []byte("v0000000001\n"), 0o644))
			must(t, filepath.Walk(data, func(path string, info os.FileInfo, err error) error {
				return firstError(err, os.Chmod(path, info.Mode()&0o700), os.Chown(path, stranger, stranger))
			}))
			given, err := state.plant(t, dir, data)
			must(t, err)
			for i, args := range append(writing, reading...) {
				if state.reads && i < len(writing) && (args[0] == "gateway" || args[0] == "serve") {
					continue // they run on where only the files cannot be written
				}
				code, said := asStranger(t, append(strings.Split(strings.ReplaceAll(strings.Join(args, "\x00"), "$", top), "\x00"), "--data", given)...)
				if i >= len(writing) && state.reads {
					if code != exitOK {
						t.Errorf("%v: exit %d: %s, want %v", args, code, said, exitOK)
					}
					continue
				}
				cured := false
				for _, cure := range state.cure {
					cured = cured || strings.Contains(said, cure)
				}
				if code != exitConfig || !cured {
					t.Errorf("%v: exit %d, want %d and one of %q: %s", args, code, exitConfig, state.cure, said)
				}
			}
		})
	}
}

// asStranger runs the program as an unprivileged user and returns its messages in one line. The program's file is
// passed as a descriptor, since that user cannot enter its directory.
func asStranger(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	exe, err := os.Open(self(t))
	must(t, err)
	defer func() { _ = exe.Close() }()
	cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3", args...)
	cmd.Args[0], cmd.ExtraFiles = "ingest", []*os.File{exe}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	cmd.Env = append(os.Environ(), "TMPDIR=/tmp", "HOME=/tmp")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), strings.Join(strings.Fields(out.String()), " ")
}
