package packaging_test

import (
	"os/exec"
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
		t.Fatalf("units %q, %v, want at least 3", units, err)
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

// A run listens nowhere, whatever the code might come to do; neither service sees the machine's users.
func TestServicesAreConfined(t *testing.T) {
	for unit, wants := range map[string][]string{
		"systemd/ingest.service":       {"PrivateUsers=yes", "SocketBindDeny=any", "IPAddressDeny=multicast", "#LoadCredential=ping-url:/etc/ingest/ping.url"},
		"systemd/ingest-serve.service": {"PrivateUsers=yes", "IPAddressDeny=multicast", "#LoadCredential=ping-url:/etc/ingest/ping.url"},
	} {
		text := read(t, unit)
		for _, want := range wants {
			if !strings.Contains(text, "\n"+want+"\n") {
				t.Errorf("%s lacks %s", unit, want)
			}
		}
	}
}

// docs/modules.md lists the linked modules, at the versions of go.mod.
func TestEveryLinkedModuleIsListed(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "grpcnotrace", "-f", "{{with .Module}}{{if not .Main}}| `{{.Path}}` | {{.Version}} |{{end}}{{end}}", "../cmd/ingest").Output()
	if err != nil {
		t.Fatal(err)
	}
	list := read(t, "../docs/modules.md")
	for row := range strings.Lines(string(out)) {
		if row = strings.TrimSpace(row); row != "" && !strings.Contains(list, row) {
			t.Errorf("docs/modules.md lacks %s: make modules", row)
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
