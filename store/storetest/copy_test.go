package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// Upstream is the upstream of the stores of runCopy.
const Upstream = "127.0.0.1"

// Place holds stores by name.
type Place struct {
	New  func(t testing.TB) (name string) // of a store that is not there yet
	Open func(ctx context.Context, name string, o store.Options) (*store.Store, error)
	Exec func(t testing.TB, name, statement string) // as any client might
}

// files are stores in SQLite, by their directory.
var files = Place{
	New:  func(t testing.TB) string { t.Helper(); return t.TempDir() },
	Open: store.Open,
	Exec: func(t testing.TB, name, statement string) {
		t.Helper()
		db, err := sql.Open("sqlite",
			(&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(name, store.FileName))}).String()+"?_busy_timeout=10000")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	},
}

func TestCopy(t *testing.T) { runCopy(t, files, files) }

// runCopy runs the tests of copying from one place into another.
func runCopy(t *testing.T, from, to Place) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, from, to Place)
	}{
		{"ACopyAnswersAsTheStoreDoes", testACopyAnswersAsTheStoreDoes},
		{"ACopyThatIsCutOffAnywhereLeavesNothing", testACopyThatIsCutOffAnywhereLeavesNothing},
		{"ACopyIsOfOneMoment", testACopyIsOfOneMoment},
		{"WhatHoldsSomethingElseIsRefused", testWhatHoldsSomethingElseIsRefused},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, from, to) })
	}
}

func (p Place) open(t testing.TB, name string) *store.Store {
	t.Helper()
	s, err := p.Open(t.Context(), name, store.Options{Upstream: Upstream, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// filled returns a store with rows in every table, some of them hostile.
func (p Place) filled(t testing.TB) (*store.Store, string) {
	t.Helper()
	name := p.New(t)
	s := p.open(t, name)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var videos []ingest.Video
	for i, title := range hostileTitles {
		v := Titled(fmt.Sprintf("video%02d", i), title)
		v.ChannelID, v.Channel, v.Tags, v.Live = fmt.Sprint("UC", i%3), title, []string{title, "tag"}, i%2 == 1
		v.Description = strings.Repeat(title+"\n", i%4)
		if i%3 == 0 {
			v.Views, v.Likes, v.PublishedAt, v.Tags = nil, nil, time.Time{}, nil
		}
		videos = append(videos, v)
	}
	s.SetHooks(allEvents)
	Chart(t, s, "US", noon.Add(-time.Hour), Page(videos...))
	s.SetHooks(nil)
	Chart(t, s, "DE", noon.Add(-time.Minute), Page(videos[:4]...), Page(videos[4:]...))
	missed := Due("FR", noon.Add(-time.Hour))
	missed.State, missed.Reason = ingest.Missed, "nothing ran"
	AddDue(t, s, missed, Due("GB", noon))
	Claim(t, s, By("works", noon))
	lost := AddBackfill(t, s, Plan("lost"), Of(ingest.Piece{Key: "1", IDs: []string{"video00"}}))
	Finish(t, s, SaveFound(t, s, Claim(t, s, PiecesOf(lost, "a", noon)), []string{"video00"}), ingest.Done, "")
	b := AddBackfill(t, s, Plan("x"), Numbered(3))
	slot := Claim(t, s, PiecesOf(b, "a", noon))
	slot.Units, slot.Charges = 2, map[string]int64{"units": 2}
	slot, err := s.GiveUp(t.Context(), slot, "i0000000001", "the upstream's \"no\"")
	must(err)
	slot.RetryAt, slot.Pages = noon.Add(time.Hour), 1
	Finish(t, s, slot, ingest.Stopped, "units are spent")
	named := Claim(t, s, PiecesOf(b, "b", noon))
	_, err = s.SaveNames(t.Context(), named, "US", []ingest.Category{{ID: "10", Name: "Music & 'more'"}})
	must(err)
	must(s.SaveNoChart(t.Context(), "FR", "", noon.Add(time.Hour)))
	calls := ingest.CallStats{}
	calls.Add("videos.list", "ok", time.Second, noon)
	must(s.AddCallStats(t.Context(), calls))
	gone := AddBackfill(t, s, Plan("gone"), Numbered(0))
	p.Exec(t, name, `DELETE FROM backfills WHERE name = '`+gone.ID+`'`)
	return s, name
}

// hostileTitles are titles chosen to break something.
var hostileTitles = []string{
	"Mühle im Wald", `'; DROP TABLE slots; --`, `a\b\\u0000 \n "quoted"`, "東京都の天気 👨‍👩‍👧", "\u202eright to left",
	"$1 ?1 %s {}", "nul \x00 in it",
	"no text \xff\xfe", strings.Repeat("x", 5000), "", "NULL", "video_text MATCH ?",
}

// answers returns a store's answers to all questions.
func answers(t testing.TB, s *store.Store) string {
	t.Helper()
	var b strings.Builder
	say := func(name string, v any, err error) { fmt.Fprintf(&b, "%s: %+v %v\n", name, v, err) }
	for _, region := range []ingest.Region{"US", "DE"} {
		c, err := s.Chart(t.Context(), region, time.Time{}, false)
		for i := range c.Items {
			v := &c.Items[i].Video
			for _, p := range []**int64{&v.Views, &v.Likes, &v.Comments} {
				fmt.Fprint(&b, shown(*p), " ")
				*p = nil
			}
		}
		say("chart", fmt.Sprintf("%q", fmt.Sprintf("%+v", c.Items)), err)
	}
	slots, err := s.ListSlots(t.Context(), store.SlotFilter{})
	say("slots", slots, err)
	backfills, err := s.Backfills(t.Context())
	say("backfills", backfills, err)
	for _, query := range []string{"wald", "天気", "drop table", "quoted", "tag:tag", "text", "xxx*"} {
		say(query, Search(t, s, store.SearchQuery{Text: query}), nil)
	}
	calls, err := s.CallStats(t.Context())
	say("calls", calls, err)
	until, err := s.NoChartUntil(t.Context(), "FR", "")
	say("no chart", until, err)
	names, err := s.RegionsToName(t.Context(), noon.Add(-day), noon.Add(-day))
	say("unnamed", names, err)
	return b.String()
}

func testACopyAnswersAsTheStoreDoes(t *testing.T, from, to Place) {
	a, _ := from.filled(t)
	name := to.New(t)
	b := to.open(t, name)
	told := 0
	got, err := a.CopyInto(t.Context(), b, store.CopyOptions{Step: 5, Progress: func(string, int, int) { told++ }})
	if err != nil || got.Written || got.Already || told == 0 {
		t.Fatalf("copied %+v, %v; reported %d times", got, err, told)
	}
	rows := map[string]int{}
	for _, table := range got.Tables {
		if rows[table.Table] = table.Rows; len(table.Hash) != 64 || table.Rows == 0 {
			t.Errorf("%s: got %d rows with the hash %q, want at least one, and a hash", table.Table, table.Rows, table.Hash)
		}
	}
	if rows["video_facts"] != len(hostileTitles) || rows["placements"] != 2*len(hostileTitles) || rows["pieces"] != 4 {
		t.Errorf("copied rows: got %v, want all videos and places, and 4 pieces", rows)
	}
	target := to.open(t, name)
	if got.Plain == 0 { // else the target answers with the readable part
		if was, is := answers(t, a), answers(t, target); was != is {
			t.Errorf("the store answers\n%s\nand its copy\n%s", was, is)
		}
	}
	if again, err := a.CopyInto(t.Context(), b, store.CopyOptions{}); err != nil || !again.Already ||
		fmt.Sprint(again.Tables) != fmt.Sprint(got.Tables) {
		t.Errorf("the same copy again: %+v, %v", again, err)
	}
	Chart(t, target, "IN", noon, Page(Titled("new", "Neuer Wald"), Titled("video00", "Mühle im Wald")))
	if found := fmt.Sprint(Search(t, target, store.SearchQuery{Text: "wald", Region: "IN"})); found != "[new video00]" &&
		found != "[video00 new]" {
		t.Errorf("search for wald: got %s, want the new video and the old one", found)
	}
	if plan := AddBackfill(t, target, Plan("next"), Numbered(1)); plan.ID != "bf-4" {
		t.Errorf("the next backfill is %s: a number is given twice, want \"bf-4\"", plan.ID)
	}
}

// errCut ends a copy as a kill would: committed rows stay.
var errCut = errors.New("cut off")

func testACopyThatIsCutOffAnywhereLeavesNothing(t *testing.T, from, to Place) {
	a, _ := from.filled(t)
	name := to.New(t)
	cuts := 0
	for done := false; !done; cuts++ {
		b, err := to.Open(t.Context(), name, store.Options{Upstream: Upstream})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cut := context.WithCancelCause(t.Context())
		steps := 0
		_, err = a.CopyInto(ctx, b, store.CopyOptions{Step: 2, Progress: func(string, int, int) {
			if steps++; steps > 2*cuts {
				cut(errCut)
			}
		}})
		cut(nil)
		if done = err == nil; !done {
			if !errors.Is(err, errCut) && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if slots, err := b.ListSlots(t.Context(), store.SlotFilter{}); err != nil || len(slots) > 0 {
				t.Errorf("after %d steps the target has %v, %v, want none", steps, slots, err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if cuts < 10 {
		t.Errorf("the copy was interrupted %d times: too few for a test, want at least 10", cuts)
	}
	if got, err := a.CopyInto(t.Context(), to.open(t, name), store.CopyOptions{}); err != nil || !got.Already {
		t.Errorf("in the end there is %+v, %v", got, err)
	}
}

func testACopyIsOfOneMoment(t *testing.T, from, to Place) {
	a, _ := from.filled(t)
	name := to.New(t)
	written := false
	got, err := a.CopyInto(t.Context(), to.open(t, name), store.CopyOptions{Step: 5, Progress: func(string, int, int) {
		if !written {
			written = true
			Chart(t, a, "IN", noon, Page(Titled("later", "Wald, später")))
		}
	}})
	if err != nil || !got.Written {
		t.Fatalf("copied %+v, %v", got, err)
	}
	if found := Search(t, to.open(t, name), store.SearchQuery{Text: "später"}); len(found) != 0 {
		t.Errorf("of the later videos there is %v, want none", found)
	}
}

func testWhatHoldsSomethingElseIsRefused(t *testing.T, from, to Place) {
	a, _ := from.filled(t)
	name := to.New(t)
	AddDue(t, to.open(t, name), Due("CA", noon))
	b := to.open(t, name)
	if _, err := a.CopyInto(t.Context(), b, store.CopyOptions{}); !errors.Is(err, store.ErrOccupied) {
		t.Errorf("copied over another store: %v, want error %v", err, store.ErrOccupied)
	}
	WantStates(t, b, "CA 12:00 due")
	var foreign *store.UpstreamError
	other := to.New(t)
	o, err := to.Open(t.Context(), other, store.Options{Upstream: "api.example"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = o.Close() }()
	if _, err := a.CopyInto(t.Context(), o, store.CopyOptions{}); !errors.As(err, &foreign) {
		t.Errorf("copied into another upstream's store: %v", err)
	}
}

// A target that keeps something else than it is given gets nothing.
func TestACopyThatDiffersIsNotCommitted(t *testing.T) {
	a, _ := files.filled(t)
	for table, change := range map[string]string{
		"slots":        `UPDATE slots SET reason = 'another' WHERE id = new.id`,
		"placements":   `DELETE FROM placements WHERE slot = new.slot AND rank = 2`,
		"video_latest": `UPDATE video_latest SET views = 0 WHERE id = new.id AND views IS NULL`,
	} {
		dir := t.TempDir()
		b := files.open(t, dir)
		files.Exec(t, dir, "CREATE TRIGGER spoil AFTER INSERT ON "+table+" BEGIN "+change+"; END")
		if _, err := a.CopyInto(t.Context(), b, store.CopyOptions{}); err == nil || !strings.Contains(err.Error(), "table "+table) {
			t.Errorf("after %s: %v", change, err)
		}
		if slots, err := b.ListSlots(t.Context(), store.SlotFilter{}); err != nil || len(slots) > 0 {
			t.Errorf("what differs was kept: %v, %v, want none", slots, err)
		}
	}
}
