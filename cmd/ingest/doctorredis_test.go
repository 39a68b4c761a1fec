//go:build unix

package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

// redisWorlds are reasons why a Redis is unfit for a ledger, each with the line that reports it.
var redisWorlds = []struct {
	name     string
	settings []string
	broken   func(s *faulty.Server) (user string)
	check    string
	status   doctor.Status
	exit     int
	detail   string
	advice   string
}{
	{"as it should be", []string{"--appendonly", "yes"}, nil, "redis", doctor.OK, exitOK, "master, answers in", ""},
	{"its persistence is well", []string{"--appendonly", "yes"}, nil, "persistence", doctor.OK, exitOK, "append-only file, appendfsync everysec", ""},
	{"its policy is well", []string{"--appendonly", "yes"}, nil, "eviction", doctor.OK, exitOK, "maxmemory-policy noeviction, maxmemory none", ""},
	{"its clock is well", []string{"--appendonly", "yes"}, nil, "redis clock", doctor.OK, exitOK, "the clock of redis is", ""},
	{"its user is well", []string{"--appendonly", "yes"}, nil, "redis user", doctor.OK, exitOK, "all rights", ""},
	{"its host is well", []string{"--appendonly", "yes"}, nil, "hosts", doctor.OK, exitOK, "1 of 1 have synced", ""},
	{"it evicts any key", []string{"--maxmemory", "64mb"}, policy("allkeys-lru"),
		"eviction", doctor.Fail, exitUnavailable, "maxmemory-policy is allkeys-lru: redis would delete the spends", "CONFIG SET maxmemory-policy noeviction"},
	{"it evicts keys that expire", nil, policy("volatile-ttl"),
		"eviction", doctor.Fail, exitUnavailable, "maxmemory-policy is volatile-ttl", "CONFIG SET maxmemory-policy noeviction"},
	{"it keeps nothing", nil, nil, "persistence", doctor.Warn, exitOK, "no append-only file", "CONFIG SET appendonly yes"},
	{"it keeps it late", []string{"--appendonly", "yes", "--appendfsync", "no"}, nil,
		"persistence", doctor.Warn, exitOK, "appendfsync no", "everysec"},
	{"it is a replica", nil, func(s *faulty.Server) string { s.Must("REPLICAOF", "127.0.0.1", "1"); return "" },
		"redis", doctor.Fail, exitUnavailable, "a replica takes no writes", "name the master"},
	{"it hangs", nil, func(s *faulty.Server) string { s.Freeze(); return "" },
		"redis", doctor.Fail, exitUnavailable, "the ledger cannot answer", "redis-cli"},
	{"its user may not do all", nil, func(s *faulty.Server) string {
		s.Must("ACL", "SETUSER", "few", "on", ">hunter2", "~ingest:*", "-@all", "+evalsha", "+script|load", "+time", "+hmget", "+info", "+config|get")
		return "few:hunter2@"
	}, "redis user", doctor.Fail, exitUnavailable, "hset", "ACL SETUSER"},
	{"its password is wrong", nil, func(*faulty.Server) string { return "few:hunter2@" },
		"redis", doctor.Fail, exitUnavailable, "check user and password", "check user and password"},
	{"what is in it is not a ledger's", nil, func(s *faulty.Server) string {
		s.Must("DEL", "ingest:{default}")
		s.Must("SET", "ingest:{default}", "x")
		return ""
	}, "redis", doctor.Fail, exitUnavailable, "DEL", "what else writes"},
}

// policy changes the eviction policy, after the first run, which would refuse it.
func policy(name string) func(*faulty.Server) string {
	return func(s *faulty.Server) string { s.Must("CONFIG", "SET", "maxmemory-policy", name); return "" }
}

func TestLongTheDoctorLooksAtARedis(t *testing.T) {
	for _, tt := range redisWorlds {
		t.Run(tt.name, func(t *testing.T) {
			s := faulty.Redis(t, tt.settings...)
			t.Setenv("INGEST_LEDGER", "redis://"+s.Addr())
			w := newWard(t)
			user := ""
			if tt.broken != nil {
				user = tt.broken(s)
			}
			before := listing(t, w.data)
			began := time.Now()
			doc := ingestJSON[doctorDocument](t, tt.exit, "doctor", "--ledger", "redis://"+user+s.Addr())
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
			got := doc.find(tt.check)
			if got.Status != tt.status || !strings.Contains(got.Detail, tt.detail) || !strings.Contains(got.Advice, tt.advice) {
				t.Errorf("%s is %+v, want %s, %q, advice %q", tt.check, got, tt.status, tt.detail, tt.advice)
			}
			if text := fmt.Sprint(doc); strings.Contains(text, "hunter2") {
				t.Errorf("the password is shown: %s", text)
			}
			if after := listing(t, w.data); strings.Join(before, "") != strings.Join(after, "") {
				t.Errorf("it changed something:\nbefore %v\nafter  %v", before, after)
			}
		})
	}
}

// The Redis holds the same before and after the doctor.
func TestTheDoctorChangesNothingInARedis(t *testing.T) {
	s := faulty.Redis(t, "--appendonly", "yes")
	ledger := "redis://" + s.Addr()
	t.Setenv("INGEST_LEDGER", ledger)
	t.Setenv("INGEST_DATA", t.TempDir())
	ingestCode(t, exitKey, "doctor", "--ledger", ledger)
	if keys := s.Must("DBSIZE"); keys != "0" {
		t.Errorf("%s keys where there was none, want \"0\"", keys)
	}
	newWard(t)
	before := s.Must("HGETALL", "ingest:{default}") + s.Must("LRANGE", "ingest:{default}:units", "0", "-1")
	ingestCode(t, exitOK, "doctor", "--ledger", ledger)
	if after := s.Must("HGETALL", "ingest:{default}") + s.Must("LRANGE", "ingest:{default}:units", "0", "-1"); after != before {
		t.Errorf("it was %q, and is %q", before, after)
	}
}

// Two data directories on one machine draw on one account, and fetch the same regions.
func TestTheDoctorSeesTheOtherHosts(t *testing.T) {
	s := faulty.Redis(t, "--appendonly", "yes")
	ledger := "redis://" + s.Addr()
	t.Setenv("INGEST_LEDGER", ledger)
	w := newWard(t)
	other := filepath.Join(t.TempDir(), "other")
	ingestCode(t, exitOK, "quota", "take", "videos.list", "--data", other)
	hosts := func(exit int) doctor.Finding { // a server that is too slow to answer leaves them out
		for end := time.Now().Add(waitAtMost); ; time.Sleep(20 * time.Millisecond) {
			if found := ingestJSON[doctorDocument](t, exit, "doctor", "--ledger", ledger).find("hosts"); found.Check != "" || time.Now().After(end) {
				return found
			}
		}
	}
	got := hosts(exitOK)
	name, _ := os.Hostname()
	for _, want := range []string{"1 of 1 have synced", "US is fetched by", name + ":" + w.data, name + ":" + other, "has two: "} {
		if got.Status != doctor.Warn || !strings.Contains(got.Detail, want) {
			t.Errorf("%+v does not say %q", got, want)
		}
	}
	s.Kill()
	s.Restart() // with all, by its AOF
	if got := hosts(exitOK); got.Status != doctor.OK || !strings.Contains(got.Detail, "restarted with its data") {
		t.Errorf("after a restart: %+v, want %v and \"restarted with its data\" in it", got, doctor.OK)
	}
	configured(t, "hosts: 2\n")
	s.Must("FLUSHALL")
	if got := hosts(exitOK); got.Status != doctor.Warn || !strings.Contains(got.Detail, "emptied") {
		t.Errorf("emptied: %+v, want %v and \"emptied\" in it", got, doctor.Warn)
	}
	ingestCode(t, exitUnavailable, "quota")
	if got := hosts(exitUnavailable); got.Status != doctor.Fail || !strings.Contains(got.Detail, "1 of 2 have synced") {
		t.Errorf("while this host waits for the other one: %+v, want %v and \"1 of 2 have synced\" in it", got, doctor.Fail)
	}
	ingestCode(t, exitOK, "quota", "take", "videos.list", "--data", other)
	if got := hosts(exitOK); got.Status != doctor.Warn || !strings.Contains(got.Detail, "US is fetched by") {
		t.Errorf("once both have synced: %+v, want %v and \"US is fetched by\" in it", got, doctor.Warn)
	}
}

// A start refuses a Redis that evicts, warns about one that forgets, and does not wait for one that does not answer.
func TestAStartChecksTheRedis(t *testing.T) {
	check := func(s *faulty.Server, quiet bool) (said string, err error) {
		t.Helper()
		var stderr bytes.Buffer
		l, err := redisledger.Open(t.Context(), "redis://"+s.Addr(), redisledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		err = program.CheckRemote(t.Context(), &stderr, quiet, "redis://:hunter2@"+s.Addr(), l)
		return stderr.String() + fmt.Sprint(err), err
	}
	s := faulty.Redis(t, "--appendonly", "yes")
	if said, err := check(s, false); err != nil || said != "<nil>" {
		t.Errorf("all is well: %s, want \"<nil>\"", said)
	}
	s.Must("CONFIG", "SET", "appendonly", "no")
	if said, err := check(s, false); err != nil || !strings.Contains(said, "no append-only file") || strings.Contains(said, "hunter2") {
		t.Errorf("no AOF: %s", said)
	}
	if said, err := check(s, true); err != nil || said != "<nil>" {
		t.Errorf("no AOF, quietly: %s", said)
	}
	s.Must("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
	if said, err := check(s, true); program.ExitCode(err) != exitUnavailable || !strings.Contains(said, "allkeys-random") ||
		!strings.Contains(said, "CONFIG SET maxmemory-policy noeviction") || strings.Contains(said, "hunter2") {
		t.Errorf("it evicts: %s", said)
	}
	s.Freeze()
	defer s.Thaw()
	began := time.Now()
	if said, err := check(s, false); err != nil || time.Since(began) > doctor.StartBound+time.Second {
		t.Errorf("it is silent: after %v %s", time.Since(began), said)
	}
}

// Another ledger lacks the units of the store's slots. While quota.db has them, the next run syncs them; without it they
// close the gate.
func TestTheDoctorSeesAnotherLedger(t *testing.T) {
	s := faulty.Redis(t, "--appendonly", "yes")
	w := newWard(t)
	doc := ingestJSON[doctorDocument](t, exitOK, "doctor", "--ledger", "redis://"+s.Addr())
	if got := doc.find("lost"); got.Status != doctor.OK || !strings.Contains(got.Detail, "8 units yet") {
		t.Errorf("with quota.db: %+v, want %v and \"8 units yet\" in it", got, doctor.OK)
	}
	if err := os.Remove(filepath.Join(w.data, "quota.db")); err != nil {
		t.Fatal(err)
	}
	doc = ingestJSON[doctorDocument](t, exitUnavailable, "doctor", "--ledger", "redis://"+s.Addr())
	if got := doc.find("lost"); got.Status != doctor.Fail || !strings.Contains(got.Detail, "8 units that the ledger does not know") {
		t.Errorf("%+v, want %v and \"8 units that the ledger does not know\" in it", got, doctor.Fail)
	}
}

// A ledger that is damaged is like one that cannot answer: cheap calls go on, and all say so.
func TestADamagedRedisIsLikeOneThatCannotAnswer(t *testing.T) {
	s := faulty.Redis(t)
	t.Setenv("INGEST_LEDGER", "redis://"+s.Addr())
	newWard(t)
	s.Must("DEL", "ingest:{default}")
	s.Must("SET", "ingest:{default}", "x")
	out, errs := ingestCode(t, exitOK, "run", "--force", "--region", "US")
	if !strings.Contains(out+errs, "cheap calls go on, from the emergency budget") {
		t.Errorf("run: %s%s, want \"cheap calls go on, from the emergency budget\" in it", out, errs)
	}
	if out, _ := ingestCode(t, exitUnavailable, "quota"); !strings.HasPrefix(out, "The ledger cannot answer: cheap calls go on") {
		t.Errorf("quota: %s, want \"The ledger cannot answer: cheap calls go on\" at the beginning", out)
	}
	if out, _ := ingestCode(t, exitOK, "metrics"); !strings.Contains(out, "ingest_quota_degraded 1") {
		t.Errorf("metrics: %s, want \"ingest_quota_degraded 1\" in it", out)
	}
	if _, errs := ingestCode(t, exitOK, "slots", "--region", "US"); !strings.Contains(errs, "cheap calls go on") {
		t.Errorf("slots: %s, want \"cheap calls go on\" in it", errs)
	}
}
