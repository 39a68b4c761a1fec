package packaging_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var enabled = regexp.MustCompile(`systemctl enable --now (ingest[a-z.-]*)`)

// TestUnitsThatAreEnabledStartAtBoot: systemctl enable does nothing for a unit without an [Install] section, and
// systemd-analyze verify does not say so.
func TestUnitsThatAreEnabledStartAtBoot(t *testing.T) {
	units, err := filepath.Glob("systemd/*")
	if err != nil || len(units) < 3 {
		t.Fatalf("units %q, %v", units, err)
	}
	named := map[string]bool{}
	for _, doc := range append(units, "../README.md", "../docs/operation.md") {
		for _, m := range enabled.FindAllStringSubmatch(read(t, doc), -1) {
			unit := m[1]
			if filepath.Ext(unit) == "" {
				unit += ".service"
			}
			named[unit] = true
		}
	}
	for _, unit := range units {
		name := filepath.Base(unit)
		started := name == "ingest.service" // by its timer
		if !named[name] && !started {
			t.Errorf("no documentation says how to enable %s", name)
		}
		if named[name] && !strings.Contains(read(t, unit), "\n[Install]\nWantedBy=") {
			t.Errorf("%s has no [Install] section: systemctl enable would do nothing", name)
		}
	}
}

func TestServicesLeaveNoCoreDump(t *testing.T) {
	for _, unit := range []string{"systemd/ingest.service", "systemd/ingest-serve.service"} {
		if !strings.Contains(read(t, unit), "\nLimitCORE=0\n") {
			t.Errorf("%s may dump core, with the key in it", unit)
		}
	}
}
