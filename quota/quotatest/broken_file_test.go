package quotatest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

// A ledger that trusts any content of its file is caught by both cases of L5, which pass for one with a mark beside
// it.
func TestSuiteCatchesALedgerThatTrustsItsFile(t *testing.T) {
	caught := 0
	for _, c := range quotatest.Cases() {
		if c.Needs != quotatest.InFile {
			continue
		}
		caught++
		if why := failure(t, c, inFile(t, true)); why != "" {
			t.Errorf("%s is red for a ledger that is not broken: %s", c, why)
		}
		why := failure(t, c, inFile(t, false))
		if why == "" {
			t.Errorf("%s passes", c)
		}
		t.Logf("%s: %s", c, why)
	}
	if caught != 2 {
		t.Errorf("%d cases of L5, want 2", caught)
	}
}

func inFile(t *testing.T, marked bool) quotatest.Backend {
	return quotatest.Backend{Name: "in a file", Open: func(_ testing.TB, c *quotatest.Clock) quotatest.Store {
		path := filepath.Join(t.TempDir(), "spent")
		open := func() (quota.Ledger, error) {
			l := &trusting{tally{Model: quotatest.Model{Now: c.Now}}, path, marked}
			return l, l.read()
		}
		l, err := open()
		if err != nil {
			t.Fatal(err)
		}
		return quotatest.Store{Ledger: l, File: &quotatest.File{Path: path, Open: open}}
	}}
}

// trusting keeps its entries in a file, one in each line. Marked, it compares the file with a copy beside it.
type trusting struct {
	tally

	path   string
	marked bool
}

func (l *trusting) Take(_ context.Context, a quota.Ask) (quota.Decision, error) {
	if err := l.read(); err != nil {
		return quota.Decision{}, err
	}
	now := l.Now()
	d := l.decide(a, now, l.sums(a, now))
	l.write(a, &d)
	var lines []byte
	for _, e := range slices.Backward(l.entries) { // the newest first: an older copy is no beginning of the file
		lines = fmt.Appendln(lines, e.account, e.pool, e.at.UnixMicro(), e.amount)
	}
	return d, errors.Join(os.WriteFile(l.path, lines, 0o600), os.WriteFile(l.path+".mark", lines, 0o600))
}

func (l *trusting) read() error {
	lines, err := os.ReadFile(l.path)
	if mark, missing := os.ReadFile(l.path + ".mark"); l.marked && missing == nil && (err != nil || !bytes.Equal(lines, mark)) {
		return quota.ErrCorrupt
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l.entries = nil
	for line := range strings.Lines(string(lines)) {
		var e tallied
		var at int64
		if _, err := fmt.Sscan(line, &e.account, &e.pool, &at, &e.amount); err != nil {
			return err
		}
		e.at = time.UnixMicro(at)
		l.entries = append(l.entries, e)
	}
	return nil
}
