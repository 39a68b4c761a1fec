package standing_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

var update = flag.Bool("update", false, "write docs/faq.md and testdata/printed.txt anew")

// docs/faq.md has every cause, the work that goes on meanwhile, and the cure that the screens print.
func TestFAQHasTheTableOfCauses(t *testing.T) {
	const page, mark = "../../docs/faq.md", "the work that goes on meanwhile, and the cures.\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, section, found := strings.Cut(string(text), mark)
	if !found {
		t.Fatalf("%s has no line that ends with %q", page, mark)
	}
	_, after, more := strings.Cut(section, "\n\nThe numbers: ")
	if !more {
		t.Fatalf("%s: nothing follows the table", page)
	}
	want := "\n| fault | goes on | cure |\n|---|---|---|\n"
	for _, row := range standing.Causes {
		do := row.Cure.Advice
		if row.Cure.Command != "" {
			do += " `" + row.Cure.Command + "`"
		}
		want += fmt.Sprintf("| %s | %s | %s |\n", row.Cure.Thing, row.Meanwhile, do)
	}
	want = before + mark + want + "\nThe numbers: " + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s is older than the table of causes: go test ./internal/standing -run FAQ -update", page)
	}
}

// Every cause has its row, once, with a thing and an advice.
func TestEveryCauseHasACure(t *testing.T) {
	seen := map[standing.Cause]bool{}
	for _, row := range standing.Causes {
		if seen[row.Cause] || row.Cure.Thing == "" || row.Cure.Advice == "" || row.Meanwhile == "" {
			t.Errorf("%s: %+v, want one row per cause, with a cure and the work that goes on", row.Cause, row)
		}
		if seen[row.Cause] = true; row.Cause.Row().Cause != row.Cause {
			t.Errorf("%s has no row", row.Cause)
		}
	}
}

// An error ends a command with the code of its cause, through any wrapping.
func TestErrorsHaveTheirExitCode(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want int
	}{
		"the key is refused":                  {&fetch.Error{Verdict: fetch.BadKey, Err: errors.New("400")}, standing.ExitKey},
		"a firewall forbids the call":         {&fetch.Error{Verdict: fetch.Unsent, Err: syscall.EPERM}, standing.ExitUnavailable},
		"the file of the ledger is another's": {fmt.Errorf("%w: %w", quota.ErrUnavailable, syscall.EACCES), standing.ExitConfig},
		"the ledger's disk is full":           {fmt.Errorf("%w: %w", quota.ErrUnavailable, syscall.ENOSPC), standing.ExitUnavailable},
		"the store's disk is full":            {syscall.ENOSPC, standing.ExitError},
		"no call is made":                     {quota.ErrClosed, standing.ExitUnavailable},
		"the clock is wrong":                  {&ingest.ClockApart{}, standing.ExitUnavailable},
		"a newer program":                     {quota.ErrNewer, standing.ExitConfig},
		"a setting":                           {fmt.Errorf("open: %w", config.Invalid(errors.New("bad"))), standing.ExitConfig},
		"a setting, for lack of an answer":    {config.Invalid(quota.ErrUnavailable), standing.ExitConfig},
		"a setting with a key":                {config.Invalid(config.ErrNoKey), standing.ExitConfig},
		"a line of a file":                    {fmt.Errorf("costs: %w", &strictyaml.PositionError{File: "costs.yaml", Line: 3}), standing.ExitConfig},
		"a file instead of a directory":       {&fs.PathError{Op: "open", Err: syscall.ENOTDIR}, standing.ExitConfig},
		"a cost that never fits":              {fmt.Errorf("it %w", quota.ErrNeverFits), standing.ExitConfig},
		"no key":                              {config.ErrNoKey, standing.ExitKey},
		"a newer program's store":             {&store.VersionError{Have: 2, Know: 1}, standing.ExitConfig},
		"an older program's store":            {&store.VersionError{Have: 1, Know: 2}, standing.ExitConfig},
		"another upstream's store":            {&store.UpstreamError{}, standing.ExitConfig},
		"a target that holds a store":         {fmt.Errorf("copy: %w", store.ErrOccupied), standing.ExitConfig},
		"a database that is away":             {ingest.ErrStoreSilent, standing.ExitUnavailable},
		"nothing":                             {nil, standing.ExitOK},
		"an unknown error":                    {errors.New("the ledger cannot answer"), standing.ExitError},
	} {
		if got := standing.ExitOf(tt.err); got != tt.want {
			t.Errorf("%s: exit %d, want %d", name, got, tt.want)
		}
	}
}

// Errors are known by their type, however often they are wrapped, and not by their text.
func TestErrorsHaveTheirCause(t *testing.T) {
	silent := func(err error) error { return fmt.Errorf("open: %w: %w", quota.ErrUnavailable, err) }
	oom := &quota.ServerError{Cause: "the server is out of memory", Cure: "raise maxmemory", Err: errors.New("OOM")}
	full := &sqlitefile.NoRoomError{Path: "/data/ingest.db", Err: errors.New("database or disk is full (13)")}
	for name, tt := range map[string]struct {
		err  error
		want standing.Cause
		cure string
	}{
		"the ledger's file is gone":          {silent(quota.ErrMissing), standing.LedgerMissing, "quota.db is missing."},
		"an older copy":                      {fmt.Errorf("%w: quota.db %w", quota.ErrCorrupt, quota.ErrOlderCopy), standing.LedgerOlderCopy, "quota.db is an older copy."},
		"damaged":                            {quota.ErrCorrupt, standing.LedgerDamaged, "quota.db is damaged."},
		"it lacks calls":                     {errors.Join(quota.ErrClosed, quota.ErrIncomplete), standing.LedgerIncomplete, "quota.db lacks calls that the store knows."},
		"a newer program":                    {quota.ErrNewer, standing.NewerProgram, "A newer ingest wrote the data."},
		"the ledger's clock":                 {quota.ClockError("its clock says 1970-01-01T00:00:00Z"), standing.ClocksApart, "Two clocks are apart."},
		"the database's clock":               {&ingest.ClockApart{From: "the database", Ahead: time.Hour}, standing.ClocksApart, "Two clocks are apart."},
		"the upstream's clock":               {fmt.Errorf("%w: it says otherwise", ingest.ErrClock), standing.ClocksApart, "Two clocks are apart."},
		"no room, as SQLite says it":         {fmt.Errorf("save a page: %w", full), standing.DiskFull, "No room on the disk of /data/ingest.db."},
		"no room, as the system says it":     {&fs.PathError{Op: "write", Err: syscall.ENOSPC}, standing.DiskFull, "The disk is full."},
		"no more of a user's quota":          {syscall.EDQUOT, standing.DiskFull, "The disk is full."},
		"a mount that is read-only":          {syscall.EROFS, standing.ReadOnly, "The data directory is read-only."},
		"another user's file":                {&fs.PathError{Op: "open", Err: syscall.EACCES}, standing.NoRight, "A file cannot be read or written."},
		"too many open files":                {syscall.EMFILE, standing.OpenFiles, "The process has too many open files."},
		"a standby":                          {fmt.Errorf("claim: %w", ingest.ErrNoWrites), standing.NoWrites, "The database takes no writes."},
		"a server that is out of memory":     {silent(oom), standing.ServerFault, "The server is out of memory."},
		"a server that does not answer":      {silent(errors.New("i/o timeout")), standing.LedgerSilent, "The ledger does not answer."},
		"a refused key":                      {&fetch.Error{Verdict: fetch.BadKey, Err: errors.New("400")}, standing.KeyRefused, "The API key is refused."},
		"a firewall":                         {&fetch.Error{Verdict: fetch.Unsent, Err: syscall.EPERM}, standing.UpstreamSilent, "The upstream gives no usable answer."},
		"a store that is damaged":            {&store.CorruptError{Path: "/data/ingest.db", Doing: "open"}, "other", "The store is damaged."},
		"an error that says it is missing":   {errors.New("the path is missing a slash"), "other", ""},
		"an error that says it is read-only": {errors.New("READONLY no room, is damaged"), "other", ""},
	} {
		got := standing.CauseOf(tt.err, "other")
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if cure := (standing.Condition{Cause: got, Err: tt.err}).Cure(); cure.Thing != tt.cure || tt.cure != "" && cure.Advice == "" {
			t.Errorf("%s: its cure is %+v, want %q", name, cure, tt.cure)
		}
	}
}
