package store_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func TestTheIndexIsLeftAloneWhenNoTextChanged(t *testing.T) {
	s, clock := newStore(t)
	v := titled("a", "Titel")
	v.Tags = []string{"eins"}
	chart(t, s, "US", noon, page(v))
	index := func() string {
		return scalar[string](t, raw(t, s.Path()), `SELECT group_concat(id || hex(block)) FROM (SELECT * FROM video_text_data ORDER BY id)`)
	}
	before := index()
	v.Views, v.Likes, v.Category, v.Thumbnail, v.Live, v.Language = count(1e9), nil, "1", "https://other", true, "en"
	chart(t, s, "US", clock.move(time.Hour), page(v))
	if index() != before {
		t.Error("the index after an update of counts: got changed, want unchanged")
	}
	v.Tags = []string{"eins", "zwei"}
	chart(t, s, "US", clock.move(time.Hour), page(v))
	if index() == before {
		t.Error("the index after an update of the text: got unchanged, want changed")
	}
}

func TestReadersSeeWholePagesWhileOneIsWritten(t *testing.T) {
	s, clock := newStore(t)
	reader, err := store.Open(t.Context(), strings.TrimSuffix(s.Path(), "ingest.db"), store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	pages := make([]ingest.Page, 4)
	for i := range 200 {
		pages[i/50].Videos = append(pages[i/50].Videos, titled(fmt.Sprint("v", i), fmt.Sprint("Titel ", i)))
	}
	chart(t, s, "US", noon, pages...)
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for range 5 {
			chart(t, s, "US", clock.move(time.Hour), pages...)
		}
	})
	for reads := 0; ; reads++ {
		select {
		case <-done:
			wg.Wait()
			return
		default:
		}
		c, err := reader.Chart(t.Context(), "US", time.Time{}, true)
		if err != nil || len(c.Items)%50 != 0 {
			t.Fatalf("read %d: %d placements, %v, want 0", reads, len(c.Items), err)
		}
	}
}

func TestSavedPagesOutliveAKill(t *testing.T) {
	for _, pages := range []int{1, 3, 6, 9, 14} {
		t.Run(fmt.Sprint(pages, " pages"), func(t *testing.T) {
			dir := t.TempDir()
			acknowledged := killAfter(t, dir, pages)
			s := open(t, dir, &handClock{t: noon})
			db := raw(t, s.Path())
			if got := scalar[string](t, db, `PRAGMA integrity_check`); got != "ok" {
				t.Errorf("integrity: %s, want \"ok\"", got)
			}
			if n := scalar[int](t, db, `SELECT count(*) FROM (SELECT slot FROM placements GROUP BY slot HAVING count(*) % 50 <> 0)`); n != 0 {
				t.Errorf("%d slots have half a page, want 0", n)
			}
			if n := scalar[int](t, db, `SELECT count(*) FROM placements`); n < acknowledged {
				t.Errorf("%d placements, %d were acknowledged", n, acknowledged)
			}
			if n := scalar[int](t, db, `SELECT count(*) FROM slots WHERE videos <> (SELECT count(*) FROM placements WHERE slot = slots.id)`); n != 0 {
				t.Errorf("%d slots have a wrong count of videos, want 0", n)
			}
			videos, indexed := scalar[int](t, db, `SELECT count(*) FROM videos`), scalar[int](t, db, `SELECT count(*) FROM video_text_docsize`)
			if videos != indexed {
				t.Errorf("%d videos, %d of them in the index", videos, indexed)
			}
		})
	}
}

// killAfter runs a process that saves pages of 50 videos, kills it after it has reported that many pages, and returns
// the number of placements that the process had reported as saved.
func killAfter(t *testing.T, dir string, pages int) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, saved := bufio.NewScanner(out), 0
	for saved < pages && lines.Scan() {
		saved++
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // the process's last lines before it died
		if strings.HasPrefix(lines.Text(), "saved ") {
			saved++
		}
	}
	_ = cmd.Wait() // "signal: killed"
	if saved < pages {
		t.Fatalf("the process ended by itself after %d pages, want at least %v", saved, pages)
	}
	return saved * 50
}
