package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

func host(name string, regions ...string) sharedledger.Host {
	return sharedledger.Host{ID: name, Name: name, Regions: regions}
}

// Troubles that cannot be staged on one machine are judged from values.
func TestFindingsNameTheTroubleAndTheCure(t *testing.T) {
	hosts := func(want int, h ...sharedledger.Host) doctor.Finding { return doctor.JudgeHosts(h, want) }
	as := func(uid int) doctor.Finding { return doctor.LookEnvironment(t.Context(), &doctor.Doctor{UID: uid}) }
	unpriced := &doctor.Doctor{Clock: &config.Clock{}, Tariff: func() (*quota.Tariff, error) { return nil, errors.New("no costs") }}
	for _, tt := range []struct {
		name   string
		got    doctor.Finding
		want   doctor.Status
		detail string
	}{
		{"room", doctor.JudgeSpace(80<<30, 100<<30), doctor.OK, "80 GiB free of 100 GiB (80 %)"},
		{"little room", doctor.JudgeSpace(900<<20, 10<<30), doctor.Warn, "900 MiB free"},
		{"a small part", doctor.JudgeSpace(4<<30, 100<<30), doctor.Warn, "4,096 MiB free of 100 GiB (4 %)"},
		{"no room", doctor.JudgeSpace(49<<20, 100<<30), doctor.Fail, "49 MiB free"},
		{"a disk", doctor.JudgeKind(""), doctor.OK, "a disk"},
		{"a network disk", doctor.JudgeKind("NFS"), doctor.Warn, "on NFS, where SQLite's locks may not hold"},
		{"root", as(0), doctor.Warn, "running as root"},
		{"somebody", as(4711), doctor.OK, "user 4711"},
		{"clocks agree", doctor.JudgeClockGap(time.Second, time.Minute, "redis", "it is not trusted"), doctor.OK, "1s ahead of this one"},
		{"clocks differ", doctor.JudgeClockGap(-6*time.Second, time.Minute, "redis", "it is not trusted"), doctor.Warn, "6s behind this one"},
		{"clocks apart", doctor.JudgeClockGap(61*time.Second, time.Minute, "redis", "it is not trusted"), doctor.Fail, "1m1s ahead of this one: it is not trusted"},
		{"clocks apart by more than the grace", doctor.JudgeClockGap(31*time.Second, 30*time.Second, "redis", "it is not trusted"), doctor.Fail, "31s ahead of this one: it is not trusted"},
		{"an upstream with a clock", doctor.JudgeUpstreamClock(unpriced, slow(2*time.Minute)), doctor.Warn, "the clock of the upstream is 1m59s behind this one"},
		{"an upstream's clock by which a run does nothing", doctor.JudgeUpstreamClock(unpriced, slow(11*time.Minute)), doctor.Fail, "by such a clock a run fetches and deletes nothing"},
		{"an upstream whose header has whole seconds", doctor.JudgeUpstreamClock(unpriced, whole{}), doctor.OK, "the clock of the upstream is 0s ahead of this one"},
		{"suspect answers", doctor.JudgeAnswers(unpriced, store.Summary{InDoubt: 3, Contact: ingest.Contact{Suspects: 2, SuspectAt: time.Now()}}), doctor.Warn, "2 answers lacked too many of the videos"},
		{"all hosts", hosts(2, host("a:/d", "US"), host("b:/d", "GB")), doctor.OK, "2 of 2 have synced: a:/d, b:/d"},
		{"a host that is missing", hosts(3, host("a:/d", "US"), host("b:/d", "GB")), doctor.Warn, "2 of 3"},
		{"one host too many", hosts(1, host("a:/d", "US"), host("b:/d", "GB")), doctor.Warn, "2 of 1"},
		{"a region of two hosts", hosts(2, host("a:/d", "US", "DE"), host("b:/d", "DE")), doctor.Warn, "DE is fetched by a:/d and by b:/d"},
		{"two directories of one machine", hosts(2, host("a:/d", "US"), host("a:/e", "DE")), doctor.Warn, "machine a has two: a:/d and a:/e"},
	} {
		if tt.got.Status != tt.want || !strings.Contains(tt.got.Detail, tt.detail) || (tt.got.Status != doctor.OK) != (tt.got.Advice != "") {
			t.Errorf("%s: %+v, want %s and %q", tt.name, tt.got, tt.want, tt.detail)
		}
	}
}

// whole is an upstream whose clock is right, as its Date header says it.
type whole struct{}

func (whole) Date() (upstream, here time.Time) {
	now := time.Date(2026, 2, 14, 12, 0, 0, 900_000_000, time.UTC)
	return now.Truncate(time.Second), now
}

// slow is an upstream whose clock is so far behind.
type slow time.Duration

func (s slow) Date() (upstream, here time.Time) {
	now := time.Now()
	return now.Add(-time.Duration(s)), now
}

// Another user's data directory, and files that a run by root left in it.
func TestOwnersOfADataDirectoryAreKnown(t *testing.T) {
	dir := t.TempDir()
	d := &doctor.Doctor{Config: &config.Config{Data: dir}, UID: 4711, LedgerFile: "quota.db"}
	if f := doctor.LookData(t.Context(), d); f.Status != doctor.Fail || f.Exit != doctor.BadConfig ||
		!strings.Contains(f.Detail, "belongs to "+ownfile.UserName(os.Getuid())+", this is user 4711") {
		t.Errorf("%+v, want a failure that names both users", f)
	}
	if os.Getuid() != 0 {
		return // only root can give files away
	}
	d.UID = 0
	left := filepath.Join(dir, "quota.lock")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(left, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if f := doctor.LookData(t.Context(), d); f.Status != doctor.Fail || !strings.Contains(f.Detail, "but not quota.lock") {
		t.Errorf("%+v, want %v and \"but not quota.lock\" in it", f, doctor.Fail)
	}
	d.UID = 4711
	for owner, cure := range map[int]string{65534: "sudo -u " + ownfile.UserName(65534) + ",", 61184: "with sudo,"} { // systemd made the latter
		if err := os.Lchown(dir, owner, owner); err != nil {
			t.Fatal(err)
		}
		if f := doctor.LookData(t.Context(), d); !strings.Contains(f.Advice, cure) {
			t.Errorf("%+v, want %s", f, cure)
		}
	}
}

func TestACheckThatPanicsOrHangsCostsItselfOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		defer close(end)
		hangs := func(context.Context, *doctor.Doctor) doctor.Finding { <-end; return doctor.Finding{} }
		began := time.Now()
		seen := (&doctor.Doctor{}).Run(t.Context(),
			doctor.Look{"panics", func(context.Context, *doctor.Doctor) doctor.Finding { panic("oops") }, 0},
			doctor.Look{"hangs", hangs, time.Millisecond},
			doctor.Look{"hangs too", hangs, time.Millisecond},
			doctor.Look{"has nothing", func(context.Context, *doctor.Doctor) doctor.Finding { return doctor.Finding{} }, 0},
			doctor.Look{"is well", func(context.Context, *doctor.Doctor) doctor.Finding { return doctor.Found("well") }, 0},
		)
		var got []string
		for _, f := range seen {
			got = append(got, fmt.Sprintf("%s %s %s", f.Check, f.Status, f.Detail))
		}
		want := "panics fail the check itself broke: oops; hangs fail no answer within 1ms; hangs too fail no answer within 1ms; is well ok well"
		if strings.Join(got, "; ") != want || time.Since(began) > 2*doctor.Overstayed {
			t.Errorf("after %v: %s", time.Since(began), strings.Join(got, "; "))
		}
	})
}

// A check that a signal cuts short judges nothing.
func TestAnInterruptedCheckIsNoFailure(t *testing.T) {
	d := &doctor.Doctor{}
	ctx, cancel := context.WithCancel(t.Context())
	found := d.Run(ctx, doctor.Look{"server", func(ctx context.Context, _ *doctor.Doctor) doctor.Finding {
		cancel()
		return doctor.FailedWith(ctx.Err(), "see that it runs")
	}, 0})
	if len(found) != 1 || found[0].Status != doctor.Warn || found[0].Detail != "not judged: interrupted" {
		t.Errorf("%+v, want 1, %v and \"not judged: interrupted\"", found, doctor.Warn)
	}
}

// All of a schedule is stale: every series is counted, even if it is not listed, and the reason appears once.
func TestStaleSeriesAreAllCountedAndShareOneReason(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 2, 14, 9, 40, 0, 0, time.UTC)
	job := ingest.Job{Name: "chart", Kind: ingest.KindChart, Every: 30 * time.Minute, Pages: 1}
	for _, region := range []string{"US", "GB", "DE", "FR", "IN", "BR", "AU", "CA", "JP", "KR", "MX", "IT", "ES"} {
		job.Regions = append(job.Regions, ingest.Region(region))
	}
	schedule, err := regions.NewSchedule([]ingest.Job{job})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), dir, store.Options{Upstream: "localhost", Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	slots := schedule.Due(nil, now)
	for i := range slots {
		slots[i].State, slots[i].Reason = ingest.Missed, "no quota; try at noon"
	}
	if err := errors.Join(s.AddDue(t.Context(), slots), s.Close()); err != nil {
		t.Fatal(err)
	}
	clock := &config.Clock{}
	clock.Move(now)
	d := &doctor.Doctor{Config: &config.Config{Data: dir}, Clock: clock, Schedule: func() (regions.Schedule, error) { return schedule, nil },
		PricedSchedule: func() (budget.PricedSchedule, error) { return budget.PricedSchedule{}, errors.New("no costs") }}
	f := doctor.LookFreshness(t.Context(), d)
	const first, last = "nothing was fetched yet; chart US (never done, ", "; and 5 more"
	if f.Status != doctor.Warn || !strings.HasPrefix(f.Detail, first) || !strings.HasSuffix(f.Detail, last) {
		t.Errorf("got %+v, want a warning from %q to %q", f, first, last)
	}
	if n := strings.Count(f.Detail, "no quota, try at noon"); n != 1 {
		t.Errorf("got the reason %d times, want once: %+v", n, f)
	}
}

// On a bad day the screen begins with a headline and the failures, in a dozen lines; --all prints each check.
func TestABadDayIsSeenAtAGlance(t *testing.T) {
	var found []doctor.Finding
	add := func(n int, status doctor.Status, advice string) {
		for i := range n {
			found = append(found, doctor.Finding{Check: fmt.Sprintf("%s-%d", status, i), Status: status, Detail: "seen; a second part", Advice: advice})
		}
	}
	add(15, doctor.OK, "")
	add(4, doctor.Warn, "look at it")
	add(3, doctor.Fail, strings.Repeat("mend it ", 20))
	doc, _ := doctor.NewDocument(nil, found)
	screen := func(shown doctor.Shown) []string {
		var out strings.Builder
		if err := doc.Print(&out, shown); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
	usual := screen(doctor.Usual)
	last := usual[len(usual)-1]
	if len(usual) > 12 || usual[0] != "15 ok, 4 warn, 3 fail" || !strings.HasPrefix(usual[1], "fail  fail-0") {
		t.Errorf("got %d lines, want 12 at most, the tally and the first failure on top:\n%s", len(usual), strings.Join(usual, "\n"))
	}
	if want := "more: ingest doctor --all"; !strings.HasSuffix(last, want) {
		t.Errorf("last line: got %q, want %q at its end", last, want)
	}
	all := strings.Join(screen(doctor.All), "\n")
	for _, f := range found {
		if !strings.Contains(all, f.Check) {
			t.Errorf("--all does not print %s", f.Check)
		}
	}
	found = found[:15]
	doc, _ = doctor.NewDocument(nil, found)
	if good := screen(doctor.Usual); len(good) != 15*2+1 {
		t.Errorf("a good day has %d lines", len(good))
	}
}

func TestAPasswordInClearIsReported(t *testing.T) {
	for server, want := range map[string]string{
		"sqlite": "", "redis://192.0.2.1/0": "", "redis://:hunter2@127.0.0.1/0": "", "rediss://:hunter2@192.0.2.1/0": "",
		"redis://:hunter2@192.0.2.1/0":                                         "192.0.2.1",
		"redis+cluster://u:hunter2@127.0.0.1,db.example.org":                   "db.example.org",
		"redis+sentinel://192.0.2.1/0?master_name=m&sentinel_password=hunter2": "192.0.2.1",
		"redis://:hunter2@[2001:db8::1]:6379/0":                                "2001:db8::1",
		"redis://:hunter2@[::ffff:192.0.2.1]:6379/0":                           "::ffff:192.0.2.1",
		"redis://:hunter2@[::1]:6379/0":                                        "",
		"redis://:hunter2@127.9.8.7/0":                                         "",
		"redis://:hunter2@localhost:6379/0":                                    "",
		"redis://:hunter2@ip6-localhost:6379/0":                                "ip6-localhost",
		"redis://:hunter2@127.0.0.1.example.org/0":                             "127.0.0.1.example.org",
		"redis://u:hunter2@db.example.org/0?timeout=1s":                        "db.example.org",
		"postgres://u:hunter2@192.0.2.1/d":                                     "",
		"postgres://u:hunter2@192.0.2.1/d?sslmode=prefer":                      "192.0.2.1",
		"postgres://u:hunter2@localhost/d?sslmode=disable":                     "",
		"postgres://u:hunter2@localhost:1,db.example.org:2/d?sslmode=disable":  "db.example.org",
	} {
		host := doctor.InClear(server)
		if host != want {
			t.Errorf("%s: %q, want %q", server, host, want)
		}
		if text, cure := doctor.DescribeInClear(server, host); strings.Contains(text+cure, "hunter2") {
			t.Errorf("%s, %s, want no password", text, cure)
		}
	}
}
