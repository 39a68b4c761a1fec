package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// TestAReadOnlyRootIsEnough runs the program in a root of its own, as user 65532, where only the data directory can be
// written: no /tmp, /etc, /proc, HOME, TMPDIR, time zones or certificates, as in a container whose root is read-only.
// It must do the same there as in an ordinary place. The program is this one, with the system's libraries that it was
// linked to; TestLongAReadOnlyRootIsEnough builds the static one of the image, and tries more.
func TestAReadOnlyRootIsEnough(t *testing.T) {
	skipWithoutMount(t)
	t.Parallel()
	tests, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	libraries, _ := exec.CommandContext(t.Context(), "ldd", tests).Output() // it fails for a static program, which needs none
	ordinary, sealed := newPlace(t, tests, libraries, false), newPlace(t, tests, libraries, true)
	ordinary.now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	sealed.now = ordinary.now
	same(t, ordinary, sealed, exitOK, "run", "--region", "US", "--json", "--jq", "[.outcome, .units, (.regions | map([.region, .outcome, .videos]))]")
	for _, args := range [][]string{
		{"search", "the", "--json", "--jq", "[.items[].video_id] | sort"},
		{"backup", "/data/copy.db"},
		{"doctor", "--repair", "--json", "--jq", ".checks[] | [.check, .status, .advice]"},
	} {
		same(t, ordinary, sealed, exitOK, args...)
	}
	sealed.gateway()
	if a, b := ordinary.sim.Ledger().Units["units"], sealed.sim.Ledger().Units["units"]; a < 4 || b != a+1 { // one for the gateway
		t.Errorf("the upstream counted %d units in an ordinary place, %d in the sealed one", a, b)
	}
}

func skipWithoutMount(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 || !mayMount() {
		t.Skip("mount: a disk that can be filled, or a root of one's own, needs the right to mount, which this user does not have")
	}
}

func TestLongAReadOnlyRootIsEnough(t *testing.T) {
	skipWithoutMount(t)
	t.Parallel()
	static := filepath.Join(t.TempDir(), "ingest")
	build := exec.CommandContext(t.Context(), "sh", "tools/build.sh", "v9.8.7", static)
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("tools/build.sh: %v\n%s", err, out)
	}
	ordinary, sealed := newPlace(t, static, nil, false), newPlace(t, static, nil, true)
	began := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for pass := range 2 { // of eight regions: 16 slots
		ordinary.now = began.Add(time.Duration(pass) * 30 * time.Minute)
		sealed.now = ordinary.now
		same(t, ordinary, sealed, exitOK, "run", "--json", "--jq", "[.outcome, .units, (.regions | map([.region, .outcome, .videos]) | sort)]")
	}
	for _, args := range [][]string{
		{"backfill", "run", "videos", "/data/ids.txt", "--keep-fresh"},
		{"backfill", "status"},
		{"search", "the", "--json", "--jq", "[.items[].video_id] | sort"},
		{"chart", "US", "--json", "--jq", "[.items[] | [.rank, .video_id, .title]]"},
		{"quota", "--json", "--jq", "[.pools[].windows[].used]"},
		{"slots", "--json", "--jq", ".slots | map([.job, .region, .outcome, .units]) | sort"},
		{"backup", "/data/copy.db"},
		{"doctor", "--json", "--jq", ".checks[] | [.check, .status, .advice]"},
		{"doctor", "--repair", "--json", "--jq", ".checks[] | [.check, .status, .advice]"},
		{"config", "check"},
		{"quota", "rebuild", "--replace"},
		{"quota", "--json", "--jq", "[.pools[].windows[].used]"},
	} {
		want := exitOK
		if args[0] == "quota" && args[1] == "rebuild" {
			for _, p := range []*place{ordinary, sealed} {
				if err := os.WriteFile(filepath.Join(p.root, "data", ledgerFile), []byte("no database"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want = exitUnavailable
		}
		same(t, ordinary, sealed, want, args...)
	}
	ordinary.gateway()
	sealed.gateway()
	if a, b := ordinary.sim.Ledger().Units["units"], sealed.sim.Ledger().Units["units"]; a != b || a < 16 {
		t.Errorf("the upstream counted %d units in an ordinary place, %d in the sealed one", a, b)
	}
}

// place is where the program runs.
type place struct {
	*testing.T

	root   string // has ingest, key and data
	sealed bool
	sim    *youtubesim.Server
	url    string
	now    time.Time
}

// newPlace makes a place with a program and the libraries that ldd lists.
func newPlace(t *testing.T, program string, libraries []byte, sealed bool) *place {
	t.Helper()
	p := &place{T: t, root: t.TempDir(), sealed: sealed}
	var err error
	if p.sim, err = youtubesim.New(youtubesim.Options{Seed: 7}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p.sim)
	t.Cleanup(server.Close)
	p.url = server.URL + "/"
	for name, text := range map[string]string{"key": "k3y-of-a-container", "data/ids.txt": "v0000000001\nv0000000002\n"} {
		path := filepath.Join(p.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	p.copyFile(program, "ingest")
	for _, path := range regexp.MustCompile(`/\S+`).FindAllString(string(libraries), -1) {
		p.copyFile(path, path)
	}
	if !sealed {
		if err := os.Mkdir(filepath.Join(p.root, "tmp"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, own := range []string{"", "tmp", "key", "data", "data/ids.txt"} {
		if own == "tmp" && sealed {
			continue
		}
		if err := os.Chown(filepath.Join(p.root, own), 65532, 65532); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// copyFile copies a program or a library into this place.
func (p *place) copyFile(from, to string) {
	p.Helper()
	to = filepath.Join(p.root, to)
	if out, err := exec.CommandContext(p.Context(), "install", "-D", "-m", "755", from, to).CombinedOutput(); err != nil {
		p.Fatalf("%v: %s", err, out)
	}
}

// command returns a command of the program in this place.
func (p *place) command(args ...string) (cmd *exec.Cmd, out, errs *bytes.Buffer) {
	in := quoted(p.root)
	enter := `exec chroot --userspec=65532:65532 ` + in + ` /ingest "$@"`
	env := []string{"PATH=" + os.Getenv("PATH"), "INGEST_DATA=/data", "INGEST_KEY_FILE=/key", "INGEST_UPSTREAM_URL=" + p.url}
	if p.sealed {
		enter = "mount --bind " + in + " " + in + " && mount --bind " + in + "/data " + in + "/data && mount -o remount,bind,ro " + in + " && " + enter
	} else {
		env = append(env, "HOME=/tmp", "TMPDIR=/tmp")
	}
	if !p.now.IsZero() {
		env = append(env, "INGEST_NOW="+p.now.Format(time.RFC3339))
	}
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	cmd = exec.CommandContext(p.Context(), "sh", append([]string{"-c", enter, "sh"}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return cmd, out, errs
}

// text runs a command and returns its output without times, sizes and other details that differ between two places.
func (p *place) text(want int, args ...string) string {
	p.Helper()
	cmd, out, errs := p.command(args...)
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != want {
		p.Errorf("%s, sealed %v: exit %d, want %d\n%s%s", strings.Join(args, " "), p.sealed, code, want, out, errs)
	}
	text := strings.ReplaceAll(out.String()+errs.String(), strings.TrimSuffix(p.url, "/"), "UPSTREAM")
	return varies.ReplaceAllString(text, "_")
}

// varies matches the parts that differ from run to run: sizes, durations, clocks of the machine, ids.
var varies = regexp.MustCompile(`[0-9.]+ ?(ms|µs|s|MB|KB|KiB|MiB|GB|GiB|bytes|kB)\b|\b20\d\d-\d\d-\d\d[T ][0-9:.]+Z?|"[0-9a-f]{16,}"`)

func same(t *testing.T, a, b *place, want int, args ...string) {
	t.Helper()
	here, there := a.text(want, args...), b.text(want, args...)
	if here != there {
		t.Errorf("%s prints in an ordinary place\n%s\nand in the sealed one\n%s", strings.Join(args, " "), here, there)
	}
}

// gateway starts the gateway, asks it once, and ends it.
func (p *place) gateway() {
	p.Helper()
	p.now = time.Time{}
	addr := net.JoinHostPort("127.0.0.1", fmt.Sprint(faulty.FreePort(p.T)))
	cmd, out, errs := p.command("gateway", "--listen", addr)
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	var answer *http.Response
	for range 100 {
		req, err := http.NewRequestWithContext(p.Context(), http.MethodGet, "http://"+addr+"/youtube/v3/videos?part=id&id=v0000000001", nil)
		if err != nil {
			p.Fatal(err)
		}
		if answer, err = http.DefaultClient.Do(req); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if answer == nil || answer.StatusCode != http.StatusOK {
		p.Errorf("the gateway, sealed %v, answered %+v\n%s%s", p.sealed, answer, out, errs)
	} else {
		var doc struct{ Items []json.RawMessage }
		if err := json.NewDecoder(answer.Body).Decode(&doc); err != nil {
			p.Error(err)
		}
		_ = answer.Body.Close()
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
}
