package main_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	program "github.com/trendvidstream/ingest/cmd/ingest"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// The exit codes that README promises.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitPartial     = 3
	exitUnavailable = 69
	exitStopped     = 75
	exitKey         = 77
	exitConfig      = 78
)

// ledgerFile is the ledger in a data directory or, with a Redis, the journal.
const ledgerFile = "quota.db"

// The documents of --json.
type (
	backfillDocument = program.BackfillDocument
	backfillEnd      = program.BackfillEnd
	chartDocument    = program.ChartDocument
	chartItem        = program.ChartItem
	poolDocument     = program.PoolDocument
	progress         = program.Progress
	quotaDocument    = program.QuotaDocument
	runDocument      = program.RunDocument
	searchDocument   = program.SearchDocument
	slotDocument     = program.SlotDocument
	slotEvent        = program.SlotEvent
)

// ingestCode runs the program in this process and requires an exit code.
func ingestCode(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	if code := program.Run(args, &out, &err, nil); code != want {
		t.Fatalf("ingest %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, want, out.String(), err.String())
	}
	return out.String(), err.String()
}

// ingestAny runs the program in this process, however it ends.
func ingestAny(args ...string) (code int, stdout string) {
	var out, errs bytes.Buffer
	code = program.Run(args, &out, &errs, nil)
	return code, out.String()
}

// ingestJSON runs the program with --json and decodes its output.
func ingestJSON[T any](t *testing.T, want int, args ...string) T {
	t.Helper()
	out, _ := ingestCode(t, want, append([]string{"--json"}, args...)...)
	var doc T
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("ingest %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return doc
}

// standIn serves an upstream for the test and points the program at it, with an empty data directory.
func standIn(t *testing.T, o youtubesim.Options) *youtubesim.Server {
	t.Helper()
	sim, err := youtubesim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	t.Setenv("INGEST_UPSTREAM_URL", server.URL+"/")
	t.Setenv("INGEST_DATA", filepath.Join(t.TempDir(), "data"))
	return sim
}

// at moves the program's clock.
func at(t *testing.T, s string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("INGEST_NOW", s)
	return when
}

// configured writes a config, and points the program at it.
func configured(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ingest.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("INGEST_CONFIG", path)
	return path
}

// faultsOf returns faults of the stand-in.
func faultsOf(t *testing.T, texts ...string) []youtubesim.Fault {
	t.Helper()
	var faults []youtubesim.Fault
	for _, text := range texts {
		f, err := youtubesim.ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, f)
	}
	return faults
}

// loseLedger deletes quota.db.
func loseLedger() {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(filepath.Join(os.Getenv("INGEST_DATA"), ledgerFile+suffix))
	}
}

// limits writes a costs file with that many units and returns its path.
func limits(t *testing.T, units string) string {
	t.Helper()
	shipped, err := os.ReadFile("../../costs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "costs.yaml")
	changed := strings.ReplaceAll(string(shipped), "units: {24h: 10000, day: 10000}", "units: {24h: "+units+", day: "+units+"}")
	if most, err := strconv.Atoi(units); err == nil { // a method that could never fit is refused
		changed = regexp.MustCompile(`(?m)^ +[a-zA-Z.]+: +\{units: (\d+).*\n`).ReplaceAllStringFunc(changed, func(line string) string {
			cost, _ := strconv.Atoi(regexp.MustCompile(`units: (\d+)`).FindStringSubmatch(line)[1])
			if strings.Contains(line, "24h") || cost*1000 <= most*995 {
				return line
			}
			return ""
		})
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// charts returns where real charts lie next to the project; without them the test is skipped.
func charts(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "data", "trending")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("../shared absent: no real charts to compare with")
	}
	return dir
}

// recorded returns one region's rows of one day, in rank order.
func recorded(t *testing.T, dir, region, day string) []map[string]string {
	t.Helper()
	var out []map[string]string
	rows := recordedRows(t, filepath.Join(dir, region+".csv.gz"))
	date := slices.Index(rows[0], "snapshot_date")
	for _, row := range rows[1:] {
		if row[date] == day {
			m := map[string]string{}
			for i, name := range rows[0] {
				m[name] = row[i]
			}
			out = append(out, m)
		}
	}
	return out
}

var parsedCharts = map[string][][]string{} // by path

// recordedRows parses a file of recorded charts, once for all tests, which do not run in parallel.
func recordedRows(t *testing.T, path string) [][]string {
	t.Helper()
	if rows, ok := parsedCharts[path]; ok {
		return rows
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	parsedCharts[path] = rows
	return rows
}
