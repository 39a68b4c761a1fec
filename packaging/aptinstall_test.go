package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A fresh machine upgrades itself at boot, and its apt-get holds the locks of the lists and of dpkg: packages that
// make test installs wait for them. Any other failure is shown, and is not repeated.
func TestAnInstallationWaitsForAptsLocks(t *testing.T) {
	const held = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"
	for _, tt := range []struct {
		name, apt  string
		ok         bool
		calls, out string
	}{
		{"nobody holds a lock", `echo "$3" >>calls`, true, "update install", ""},
		{"another apt-get holds one twice", `echo "$3" >>calls; [ $(wc -l <calls) -gt 2 ] || { echo "` + held + `" >&2; exit 100; }`,
			true, "update update update install", "waiting for another apt-get to end"},
		{"there is no such package", `echo "$3" >>calls; [ "$3" = update ] || { echo "E: Unable to locate package" >&2; exit 100; }`,
			false, "update install", "Unable to locate package"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"apt-get": tt.apt, "sleep": ":"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			script, err := filepath.Abs("../tools/apt-install.sh")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "sh", script, "redis-server")
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "TMPDIR=" + dir}
			out, err := cmd.CombinedOutput()
			calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
			if (err == nil) != tt.ok || strings.Join(strings.Fields(string(calls)), " ") != tt.calls || !strings.Contains(string(out), tt.out) {
				t.Errorf("%v, apt-get was called for %q:\n%s", err, calls, out)
			}
		})
	}
}
