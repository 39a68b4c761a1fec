package main_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	program "github.com/trendvidstream/ingest/cmd/ingest"
	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// trouble is a state of the world, and the messages about it. The charts were fetched at 09:40.
type trouble struct {
	name     string
	begins   func(t *testing.T)
	now      string // when the screens are read
	quota    int    // exit codes
	sentence string // in the first sentence of quota
	slots    int    // also of chart and metrics
	why      string // said of DE
	next     string // said by slots --next
	online   string // said by the doctor when it asks the upstream
	doctor   int
	check    string // which the doctor does not find well
	metric   string
	run      int
	after    int    // the doctor's exit code after that run, which may have learned more
	ready    int    // of serve, afterwards; 0: it does not start
	page     string // how the page's headline begins then
}

const lookedAt = "2026-02-14T10:41:00Z"

const (
	fresh        = "All 8 charts are fresh, and the quota lasts."
	overdueNow   = "overdue since 2026-02-14 10:07:30Z; nothing has run since 09:40"
	gateIsClosed = "no run fetches the due slots"
	remaining    = `ingest_quota_remaining_units{pool="units",purpose="scheduled"} `
	unreadable   = `ingest_source_readable{source="ledger"} 0`
)

var troubles = []trouble{
	{name: "all is well", now: "2026-02-14T09:41:00Z", sentence: "The quota lasts until", why: "next due 2026-02-14 10:07:30Z", online: " videos its clock is not compared",
		metric: `ingest_freshness_stale{job="chart",region="US"} 0`, ready: 200, page: fresh},
	{name: "nothing has run for three hours", now: "2026-02-14T12:41:00Z", sentence: "nothing has run since 09:40", why: overdueNow, next: "overdue since", check: "freshness", online: " videos its clock is not compared",
		metric: `ingest_freshness_stale{job="chart",region="US"} 1`, ready: 200, page: fresh},
	{name: "nothing has run for ten hours of a slower pace", begins: func(t *testing.T) { t.Helper(); t.Setenv("INGEST_COSTS", limits(t, "300")) }, now: "2026-02-14T19:41:00Z",
		sentence: "nothing has run since 09:40", why: "overdue since", next: "overdue since", check: "freshness", online: " videos its clock is not compared",
		metric: `ingest_freshness_stale{job="chart",region="US"} 1`},
	{name: "the quota ends before the day", begins: func(t *testing.T) {
		t.Helper()
		t.Setenv("INGEST_PACING", "off")
		post(t, "9000")
	}, now: lookedAt, sentence: "The quota runs out at 17:52Z", why: overdueNow, online: " videos its clock is not compared", metric: remaining + "492", ready: 200, page: "The quota runs out at"},
	{name: "the schedule's quota is used up", begins: func(t *testing.T) { t.Helper(); post(t, "9492") },
		now: lookedAt, sentence: "used up until", why: "stopped by quota until", next: "stopped by quota until", online: " videos its clock is not compared", check: "pools",
		metric: `ingest_quota_takes{outcome="refused"} 8`, run: exitStopped, ready: 200, page: "Quota is used up until"},
	{name: "more was posted than there is", begins: func(t *testing.T) { t.Helper(); post(t, "18917") },
		now: lookedAt, sentence: "used up until", why: "stopped by quota until", next: "stopped by quota until", online: "not asked", check: "pools",
		metric: remaining + "0", run: exitStopped, ready: 200, page: "Quota is used up until"},
	{name: "a pool is closed by hand", begins: func(t *testing.T) { t.Helper(); ingestCode(t, exitOK, "quota", "drain", "units") },
		now: lookedAt, sentence: "by hand", why: "stopped by quota until", next: "stopped by quota until", online: "not asked", check: "pools",
		metric: remaining + "0", run: exitStopped, ready: 200, page: "Closed by hand until"},
	{name: "all pools are closed by hand", begins: func(t *testing.T) {
		t.Helper()
		for _, pool := range []string{"units", "search", "batch_stats"} {
			ingestCode(t, exitOK, "quota", "drain", pool)
		}
	}, now: lookedAt, sentence: "by hand", why: "stopped by quota until", next: "stopped by quota until", online: "not asked", check: "pools",
		metric: remaining + "0", run: exitStopped, ready: 200, page: "Closed by hand until"},
	{name: "the provider says no", begins: func(t *testing.T) { t.Helper(); post(t, "9000"); refuseSoon(t) },
		now: lookedAt, sentence: "the provider says that no units are left", why: "stopped by quota until", next: "stopped by quota until", online: "not asked", check: "pools",
		metric: remaining + "0", run: exitStopped, ready: 200, page: "Quota is used up until"},
	{name: "the provider says no far below the limit", begins: func(t *testing.T) { t.Helper(); refuseSoon(t) }, // doubted for four to six minutes
		now: lookedAt, sentence: "far below the limit: one call tries again at 2026-02-14 10:4", why: "stopped by quota until 2026-02-14 10:4", next: "stopped by quota until", online: "not asked", check: "pools",
		metric: remaining + "0", run: exitStopped, ready: 200, page: "The provider refused at"},
	{name: "the upstream is away", begins: func(t *testing.T) { t.Helper(); t.Setenv("INGEST_UPSTREAM_URL", "http://127.0.0.1:1/") },
		now: lookedAt, sentence: "nothing has run since", why: overdueNow, next: "overdue since", online: "was not reached", check: "freshness",
		run: exitUnavailable, ready: 503, page: "YouTube has given no usable answer for"},
	{name: "the upstream has been away for two hours", begins: func(t *testing.T) {
		t.Helper()
		t.Setenv("INGEST_UPSTREAM_URL", "http://127.0.0.1:1/")
		at(t, "2026-02-14T10:40:00Z")
		ingestCode(t, exitUnavailable, "run")
	}, now: "2026-02-14T12:41:00Z", sentence: "YouTube has given no usable answer for 2 h", why: "overdue since", next: "1 attempt", online: "was not reached", doctor: exitUnavailable, check: "upstream",
		metric: "ingest_upstream_up 0", run: exitUnavailable, after: exitUnavailable, ready: 503, page: "YouTube has given no usable answer for"},
	{name: "the upstream refuses every page", begins: func(t *testing.T) { t.Helper(); otherStandIn(t, youtubesim.Options{Faults: faultsOf(t, "badtoken")}) },
		now: lookedAt, why: overdueNow, next: "overdue since", online: "does not know the page token", run: exitPartial, ready: 200, page: "All 8 charts are fresh"},
	{name: "the key is refused", begins: func(t *testing.T) { t.Helper(); otherStandIn(t, youtubesim.Options{RequireKey: "another"}) },
		now: lookedAt, why: overdueNow, next: "overdue since", online: "refuses the key", run: exitKey, after: exitKey, ready: 503, page: "YouTube refuses the key: nothing is fetched."},
	{name: "quota.db is lost", begins: func(*testing.T) { loseLedger() }, now: lookedAt,
		quota: exitUnavailable, sentence: "quota.db is missing", why: overdueNow, next: gateIsClosed, online: "not asked", doctor: exitUnavailable, check: "lost", metric: unreadable,
		run: exitUnavailable, after: exitUnavailable, ready: 503, page: "The quota ledger is missing: nothing is fetched"},
	{name: "quota.db is damaged", begins: func(t *testing.T) { t.Helper(); loseLedger(); spoil(t, ledgerFile) }, now: lookedAt,
		quota: exitUnavailable, sentence: "quota.db is damaged", why: overdueNow, next: gateIsClosed, online: "not asked", doctor: exitUnavailable, check: "ledger", metric: unreadable,
		run: exitUnavailable, after: exitUnavailable, ready: 503, page: "The quota ledger is damaged: nothing is fetched"},
	{name: "the clock stands before the ledger's newest entry", now: "2026-02-14T06:40:00Z",
		quota: exitUnavailable, sentence: "The ledger cannot answer: cheap calls go on", why: "due since", next: "cheap calls go on from the emergency budget (", online: " videos its clock is not compared", doctor: exitUnavailable, check: "ledger",
		metric: "ingest_quota_degraded 1", after: exitUnavailable, ready: 503, page: "The ledger cannot answer: cheap calls go on"},
	{name: "ingest.db is damaged", begins: func(t *testing.T) { t.Helper(); spoil(t, "ingest.db") }, now: lookedAt,
		quota: exitError, sentence: "The store cannot be read", slots: exitError, why: "ingest doctor --repair", online: "not asked", doctor: exitError, check: "store", metric: `ingest_source_readable{source="store"} 0`, run: exitError, after: exitError},
	{name: "nothing was ever fetched", begins: func(t *testing.T) { t.Helper(); t.Setenv("INGEST_DATA", filepath.Join(t.TempDir(), "new")) },
		now: lookedAt, sentence: "Nothing was fetched yet", slots: exitError, why: "nothing was fetched", online: " videos its clock is not compared", check: "store", metric: `ingest_source_readable{source="store"} 0`, ready: 200, page: fresh},
}

// post records units that another tool has spent.
func post(t *testing.T, units string) {
	t.Helper()
	ingestCode(t, exitOK, "quota", "post", "units", units, "--yes")
}

// refuseSoon lets the next run meet an upstream that has five units left.
func refuseSoon(t *testing.T) {
	t.Helper()
	otherStandIn(t, youtubesim.Options{Limits: map[string]int64{"units": 5}})
	at(t, "2026-02-14T10:40:00Z")
	ingestCode(t, exitStopped, "run")
}

// spoil replaces a file of the data directory by one that is no database.
func spoil(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(os.Getenv("INGEST_DATA"), file), []byte(strings.Repeat("no database ", 99)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// questions are the questions of README, each with the command that answers it.
func questions(t *testing.T) (asked [][2]string) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range questionsIn(string(text)) {
		asked = append(asked, [2]string{q.text, q.command})
	}
	if len(asked) != 10 {
		t.Fatalf("%d questions, want 10", len(asked))
	}
	return asked
}

// ask returns the answer, standard output or else the error, and requires that a screen of 80 columns shows it in few lines.
func ask(t *testing.T, question, command string) string {
	t.Helper()
	command, filter, piped := strings.Cut(command, " | ")
	var out, errs bytes.Buffer
	_ = program.Run(strings.Fields(command)[1:], &out, &errs, nil) // its words count
	answer := out.String()
	if piped {
		cmd := exec.Command("sh", "-c", filter)
		cmd.Stdin = &out
		filtered, _ := cmd.Output() // grep fails if it finds nothing
		answer = string(filtered)
	}
	said := strings.Split(strings.TrimSuffix(errs.String(), "\n"), "\n")
	said = slices.DeleteFunc(said, func(line string) bool { return strings.Contains(line, "INGEST_NOW") })
	if answer == "" {
		answer = strings.Join(said, "\n")
	}
	lines := 0
	for line := range strings.Lines(answer) {
		lines += max(1, (term.Width(strings.TrimSuffix(line, "\n"))+term.Screen-1)/term.Screen)
	}
	if lines < 1 || lines > 8 {
		t.Errorf("%s is answered in %d lines:\n%s", question, lines, answer)
	}
	return answer + "\n" + strings.Join(said, "\n")
}

// otherStandIn points the program at another upstream, with the data that it has.
func otherStandIn(t *testing.T, o youtubesim.Options) {
	t.Helper()
	sim, err := youtubesim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	t.Setenv("INGEST_UPSTREAM_URL", server.URL+"/")
}

// In each state every screen names the trouble, and no two contradict each other: where a run is stopped or refused,
// quota is not fine; where the ledger cannot answer, no screen says that it can; and charts are shown with any
// ledger. The README's ten questions are answered in each, truly, and in no more lines than a glance takes. The words
// of all screens in many more states are a test of internal/standing: this one shows that the program reads the
// facts.
func TestLongNoTwoScreensContradictEachOther(t *testing.T) {
	asked := questions(t)
	for _, tt := range troubles {
		t.Run(tt.name, func(t *testing.T) {
			standIn(t, youtubesim.Options{Seed: 5})
			at(t, "2026-02-14T09:40:00Z")
			ingestCode(t, exitOK, "run", "--pages", "1") // as much as the screens need
			if tt.begins != nil {
				tt.begins(t)
			}
			at(t, tt.now)
			tt.commands(t)
			tt.answers(t, asked)
			ingestCode(t, tt.run, "run")
			ingestCode(t, tt.after, "doctor")
			tt.service(t)
			ask(t, asked[9][0], asked[9][1])
		})
	}
}

// commands reads each command's output, and its exit code.
func (tt trouble) commands(t *testing.T) {
	t.Helper()
	said, errs := ingestCode(t, tt.quota, "quota")
	if n := strings.Count(said, "\n"); n > 8 {
		t.Errorf("quota takes %d lines, want at most 8\n%s", n, said)
	}
	for line := range strings.Lines(said) {
		if term.Width(line) > term.Screen+1 {
			t.Errorf("quota is wider than a screen: %s", line)
		}
	}
	sentence, _, _ := strings.Cut(said, "\n\n")
	sentence = strings.ReplaceAll(sentence, "\n", " ")
	if said == "" {
		sentence = errs
	}
	if !strings.Contains(sentence, tt.sentence) || strings.HasPrefix(sentence, "All 8 charts are fresh") && (tt.run == exitStopped || tt.quota != exitOK) {
		t.Errorf("quota begins with %q, and run ends with %d", sentence, tt.run)
	}
	ingestCode(t, tt.slots, "slots", "--region", "US")
	ingestCode(t, tt.slots, "chart", "US")
	if metrics, _ := ingestCode(t, tt.slots, "metrics"); !strings.Contains(metrics, tt.metric) {
		t.Errorf("the metrics lack %s", tt.metric)
	} else if tt.slots == exitOK && strings.Contains(metrics, unreadable) == (tt.quota == exitOK) {
		t.Errorf("quota ended with %d, and the metrics say otherwise of the ledger: %s", tt.quota, metrics)
	}
	found := ingestJSON[doctorDocument](t, tt.doctor, "doctor")
	if tt.check != "" && found.find(tt.check).Status == doctor.OK || (tt.doctor == exitOK) != (found.Worst != doctor.Fail) {
		t.Errorf("the doctor exits with %d, and finds %s: %+v", tt.doctor, found.Worst, found.find(tt.check))
	}
	for _, c := range found.Checks {
		if tt.run == exitUnavailable && strings.Contains(c.Advice, "ingest run makes it") {
			t.Errorf("the doctor advises a run, which is refused: %+v", c)
		}
	}
}

// answers asks the questions but the last one, which changes the ledger.
func (tt trouble) answers(t *testing.T, asked [][2]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("ids.txt", []byte("dQw4w9WgXcQ\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var spent, left, lost, backup string
	if tt.quota == exitOK && tt.slots == exitOK {
		spent = "videos.list"
	}
	if tt.slots == exitOK {
		backup = "no backup yet"
	}
	if tt.run == exitStopped {
		left = "0 units left for it"
	}
	if strings.Contains(tt.why, "nothing has run since") {
		lost = "the next run records the slots missed since"
	}
	want := []string{tt.sentence, tt.why, tt.sentence, spent, left, tt.online, lost, backup, tt.next}
	for i, q := range asked[:len(want)] {
		answer := strings.Join(strings.Fields(ask(t, q[0], q[1])), " ")
		if !strings.Contains(answer, want[i]) {
			t.Errorf("%s is answered with\n%s\nand %q is missing", q[0], answer, want[i])
		}
		for _, lie := range []string{"fits", "pool: nothing", "ingest run makes it", "may be called"} {
			if tt.quota == exitUnavailable && strings.Contains(answer, lie) {
				t.Errorf("while the ledger cannot answer, %s is answered with %q", q[0], lie)
			}
		}
	}
	if code, _ := ingestAny("quota", "--purpose", "scheduled"); (code == exitStopped) != (tt.run == exitStopped) {
		t.Errorf("quota --purpose scheduled ends with %d, and run with %d", code, tt.run)
	}
}

// service reads serve's answers, once it has looked at the world itself.
func (tt trouble) service(t *testing.T) {
	t.Helper()
	if tt.ready == 0 {
		return
	}
	quickHeart(t)
	d := startServe(t)
	d.until("readiness is as it must be", func() bool {
		code, _ := d.get("readyz")
		return code == tt.ready && d.check("ledger").Detail != "not asked yet"
	})
	if ledger := d.check("ledger").OK; ledger != (tt.quota == exitOK) {
		t.Errorf("/readyz says of the ledger %t, and quota ends with %d", ledger, tt.quota)
	}
	d.until("the page says what /readyz says", func() bool {
		code, page := d.get("status")
		_, title, _ := strings.Cut(page, "<title>")
		_, headline, _ := strings.Cut(title, " ") // after its mark
		return code == http.StatusOK && strings.HasPrefix(headline, tt.page)
	})
	if _, metrics := d.get("metrics"); strings.Contains(metrics, unreadable) == (tt.quota == exitOK) {
		t.Errorf("quota ended with %d, and /metrics says otherwise of the ledger: %s", tt.quota, metrics)
	}
	if code, _ := d.get("v1/charts/US"); code != http.StatusOK {
		t.Errorf("a chart is answered with %d, want %v", code, http.StatusOK)
	}
	for _, path := range []string{"livez", "readyz", "readyz?format=json", "freshness", "metrics", "", "status", "charts/US", "search?q=a", "slots", "v1/quota", "v1/slots", "v1/charts/US", "v1/charts/ZZ", "nowhere"} {
		if _, body := d.get(path); strings.Contains(body, filepath.Dir(os.Getenv("INGEST_DATA"))) {
			at := strings.Index(body, filepath.Dir(os.Getenv("INGEST_DATA")))
			t.Errorf("/%s names a file of this machine: …%s…", path, body[max(0, at-80):min(len(body), at+160)])
		}
	}
	d.end(syscall.SIGTERM)
}
