package config_test

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/config"
)

// A run whose process is gone is known to have died; one that lives, or that cannot be seen from here, is not.
func TestARunWhoseProcessIsGoneHasDied(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says when a process began")
	}
	own := config.RunName()
	parts := strings.Split(own, "/")
	with := func(field int, value string) string {
		p := append([]string{}, parts...)
		p[field] = value
		return strings.Join(p, "/")
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for name, died := range map[string]bool{
		own:                                     false,
		with(1, strconv.Itoa(gone.Process.Pid)): true,
		with(1, strconv.Itoa(os.Getppid())):     true, // its number was given to another
		with(4, "1"):                            true,
		with(0, "elsewhere"):                    false,
		with(3, "00000000"):                     false, // before this start, or in another container
		strings.Join(parts[:3], "/"):            false,
		"":                                      false,
	} {
		if config.RunDied(name) != died {
			t.Errorf("%s: died is %v, want %v", name, !died, died)
		}
	}
}
