package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// hooked is a store with hooks.
func hooked(t *testing.T, open Open, hooks map[string][]ingest.EventName) (*store.Store, *handClock) {
	t.Helper()
	s, clock := newStore(t, open)
	s.SetHooks(hooks)
	return s, clock
}

var allEvents = map[string][]ingest.EventName{"all": ingest.EventNames}

// sender claims the next event of a hook, as the process owner.
func sender(hook, owner string, now time.Time) ingest.HookClaim {
	return ingest.HookClaim{Name: hook, Owner: owner, Now: now, Lease: time.Minute,
		Died: func(owner string) bool { return strings.HasPrefix(owner, "dead") }}
}

// nextEvent is the next event of a hook; one without a name if there is none now.
func nextEvent(t *testing.T, s *store.Store, c ingest.HookClaim) ingest.Event {
	t.Helper()
	e, ok, err := s.NextEvent(t.Context(), c)
	if err != nil || ok != (e.Name != "") {
		t.Fatal(e, ok, err)
	}
	return e
}

// sendAll sends a hook all waiting events, and returns them.
func sendAll(t *testing.T, s *store.Store, c ingest.HookClaim) (told []ingest.Event) {
	t.Helper()
	for {
		e := nextEvent(t, s, c)
		if e.Name == "" {
			return told
		}
		if told = append(told, e); len(told) > 20_000 {
			t.Fatal("events: got more than 20,000, want an end")
		}
		if err := s.NoteSent(t.Context(), c, e, "", time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
}

func hookStates(t *testing.T, s *store.Store) (map[string]ingest.HookState, error) {
	t.Helper()
	l, err := s.Latest(t.Context(), noon.Add(1000*time.Hour))
	return l.Hooks, err
}

func eventNames(events []ingest.Event) (names []string) {
	for _, e := range events {
		names = append(names, string(e.Name))
	}
	return names
}

func testAChartTellsWhatHasChanged(t *testing.T, open Open) {
	s, clock := hooked(t, open, allEvents)
	var first, second []ingest.Video
	for i := range 30 {
		first = append(first, Titled(fmt.Sprint("v", i), fmt.Sprint("Video ", i)))
	}
	second = append(second, first[29], Titled("new", "New <b>")) // from 30 to 1: it rose; v0 to v9 fell, v28 has left
	second = append(second, first[:28]...)
	Chart(t, s, "US", noon, Page(first...))
	Chart(t, s, "US", noon.Add(time.Hour), Page(second[:20]...), Page(second[20:]...))
	Chart(t, s, "US", noon.Add(2*time.Hour), Page()) // came empty
	clock.move(3 * time.Hour)
	Chart(t, s, "US", noon.Add(3*time.Hour), Page(second...))
	var got []string
	for _, e := range sendAll(t, s, sender("all", "a", clock.now())) {
		var c ingest.ChartChange
		if err := json.Unmarshal(e.Data, &c); err != nil {
			t.Fatal(err)
		}
		places := func(list []ingest.Place) (text string) {
			for _, p := range list {
				text += fmt.Sprintf(" %s/%s/%s %d<%d", p.VideoID, p.Title, p.Channel, p.Rank, p.Was)
			}
			return text
		}
		before := "none"
		if c.Before != nil {
			before = c.Before.Sub(noon).String()
		}
		got = append(got, fmt.Sprintf("%s %s %s %v before %s videos %d short %t entered%s left%s rose%s",
			e.Name, c.Job, c.Region, c.DueAt.Sub(noon), before,
			c.Videos, c.Short != "", places(c.Entered), places(c.Left), places(c.Rose)))
	}
	want := []string{
		"chart.saved chart US 0s before none videos 30 short false entered left rose",
		"chart.saved chart US 1h0m0s before 0s videos 30 short false entered new/New <b>/Kanal " +
			"2<0 left v28/Video 28/Kanal 0<29 rose v29/Video 29/Kanal 1<30",
		"chart.saved chart US 2h0m0s before 1h0m0s videos 0 short true entered left rose",
		"chart.saved chart US 3h0m0s before 1h0m0s videos 30 short false entered left rose",
	}
	if !slices.Equal(got, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func testWhatWasRolledBackIsNotTold(t *testing.T, open Open) {
	s, clock := hooked(t, open, allEvents)
	AddDue(t, s, Due("US", noon))
	old := Claim(t, s, By("a", noon))
	Claim(t, s, By("b", clock.move(time.Hour))) // takes over
	old.Pages, old.State = 1, ingest.Done
	if _, err := s.SavePage(t.Context(), old, Page(Titled("a", "A"))); !errors.Is(err, ingest.ErrFenced) {
		t.Fatal(err)
	}
	AddDue(t, s, Due("DE", noon))
	half := Claim(t, s, By("a", clock.now()))
	half.Pages = 1
	if _, err := s.SavePage(t.Context(), half, Page(Titled("a", "A"))); err != nil { // the chart is not complete
		t.Fatal(err)
	}
	if told := sendAll(t, s, sender("all", "a", clock.now())); len(told) > 0 {
		t.Errorf("told %q, want none", eventNames(told))
	}
}

func testAHookIsToldInOrderByOneProcessAtATime(t *testing.T, open Open) {
	s, clock := hooked(t, open, map[string][]ingest.EventName{"all": ingest.EventNames, "quota": {ingest.QuotaThreshold}})
	for i, region := range []string{"US", "DE", "FR"} {
		Chart(t, s, region, noon.Add(minutes(i)), Page(Titled("a", "A")))
	}
	a, b := sender("all", "dead or alive", clock.now()), sender("all", "b", clock.now())
	a.Owner = "alive"
	first := nextEvent(t, s, a)
	if other := nextEvent(t, s, b); other.Name != "" {
		t.Errorf("two processes claim event %d at once, want one", other.ID)
	}
	if again := nextEvent(t, s, a); again.ID != first.ID {
		t.Errorf("event %d comes before %d was told", again.ID, first.ID)
	}
	b.Now = clock.move(time.Minute) // the lease is over: the hook may have received it
	if again := nextEvent(t, s, b); again.ID != first.ID || again.Key != first.Key {
		t.Errorf("then event %d %s, want %d %s again", again.ID, again.Key, first.ID, first.Key)
	}
	if err := s.NoteSent(t.Context(), a, first, "", time.Time{}); !errors.Is(err, ingest.ErrFenced) {
		t.Errorf("the process that was too slow notes %v, want error %v", err, ingest.ErrFenced)
	}
	if err := s.NoteSent(t.Context(), b, first, "it answered 500", clock.now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if early := nextEvent(t, s, b); early.Name != "" {
		t.Error("an event before its retry is due: got " + early.Name + ", want none")
	}
	states, err := hookStates(t, s)
	if h := states["all"]; err != nil || h.Tries != 1 || h.Why != "it answered 500" || h.Waiting != 3 ||
		!h.Failing.Equal(clock.now()) {
		t.Errorf("the state is %+v, %v", h, err)
	}
	c := sender("all", "dead", clock.move(time.Minute))
	if again := nextEvent(t, s, c); again.ID != first.ID {
		t.Errorf("after the pause event %d, want %v", again.ID, first.ID)
	}
	c = sender("all", "c", clock.now()) // the process of the lease is known to have died
	if told := sendAll(t, s, c); len(told) != 3 || told[0].ID != first.ID ||
		!slices.IsSortedFunc(told, func(a, b ingest.Event) int { return int(a.ID - b.ID) }) {
		t.Errorf("then told %v", told)
	}
	if told := sendAll(t, s, sender("quota", "c", clock.now())); len(told) > 0 {
		t.Errorf("a hook for quota is told %q, want none", eventNames(told))
	}
	if states, err = hookStates(t, s); err != nil || states["all"].Failing != (time.Time{}) ||
		states["all"].Waiting+states["quota"].Waiting != 0 {
		t.Errorf("at the end %+v, %v", states, err)
	}
	s.SetHooks(map[string][]ingest.EventName{"all": ingest.EventNames, "late": ingest.EventNames})
	Chart(t, s, "US", clock.now(), Page(Titled("a", "A")))
	if told := sendAll(t, s, sender("late", "a", clock.now())); len(told) != 1 || told[0].ID <= first.ID+2 {
		t.Errorf("a new hook is told %+v, want the events since", told)
	}
}

// A hook that fails for days does not let the events grow without bound, and its state says how many it never heard of.
func testEventsAreBounded(t *testing.T, open Open) {
	s, clock := hooked(t, open, map[string][]ingest.EventName{"fails": ingest.EventNames, "works": ingest.EventNames})
	for i := range 4 {
		Chart(t, s, "US", clock.move(25*time.Hour), Page(Titled(fmt.Sprint("v", i), "A")))
		if told := sendAll(t, s, sender("works", "a", clock.now())); len(told) != 1 {
			t.Fatalf("day %d: the hook that works was told %d events, want 1", i, len(told))
		}
		if c := sender("fails", "a", clock.now()); nextEvent(t, s, c).Name == "" {
			t.Fatal("the other hook's next event: got none, want one")
		} else if err := s.NoteSent(t.Context(), c, nextEvent(t, s, c), "exit status 1", clock.now()); err != nil {
			t.Fatal(err)
		}
	}
	states, err := hookStates(t, s)
	if h := states["fails"]; err != nil || h.Dropped != 1 || h.Waiting != 3 || h.Tries != 4 {
		t.Errorf("after four days: %+v, %v, want 1, 3 and 4", h, err)
	}
	if told := sendAll(t, s, sender("fails", "a", clock.now())); len(told) != 3 {
		t.Errorf("once it works: told %d events, want three days of events", len(told))
	}
	if states, err = hookStates(t, s); err != nil || states["fails"].Waiting != 0 || states["fails"].Dropped != 0 {
		t.Errorf("at the end: %+v, %v, want Waiting 0 and Dropped 0", states, err)
	}
}

func testABackfillTellsItsEndOnce(t *testing.T, open Open) {
	s, clock := hooked(t, open, allEvents)
	b := AddBackfill(t, s, Plan("x"), Numbered(2))
	for range 2 {
		if told := sendAll(t, s, sender("all", "a", clock.now())); len(told) > 0 {
			t.Errorf("told %q before its end, want none", eventNames(told))
		}
		Finish(t, s, Claim(t, s, PiecesOf(b, "a", noon)), ingest.Done, "")
	}
	cancelled := AddBackfill(t, s, Plan("y"), Numbered(3))
	if _, err := s.CancelBackfill(t.Context(), cancelled.ID, noon); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range sendAll(t, s, sender("all", "a", clock.now())) {
		var end ingest.EndedBackfill
		if err := json.Unmarshal(e.Data, &end); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %t %t %s %t %v", e.Name, end.ID == b.ID, end.ID == cancelled.ID,
			end.Kind, end.Cancelled, end.Pieces))
	}
	if want := []string{"backfill.ended true false videos false map[done:2]",
		"backfill.ended false true videos true map[skipped:3]"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

func testASituationIsToldWhenItBeginsAndEnds(t *testing.T, open Open) {
	s, clock := hooked(t, open, allEvents)
	stale := func(key string) ingest.Situation {
		return ingest.Situation{Key: key, Begun: ingest.SeriesStale, Ended: ingest.SeriesFresh,
			Data: map[string]string{"region": key}, After: map[string]string{"region": key}}
	}
	full := ingest.Situation{Key: "units 80", Begun: ingest.QuotaThreshold, Data: map[string]int{"percent": 80}}
	note := func(domain string, at time.Time, now ...ingest.Situation) {
		t.Helper()
		if err := s.NoteSituations(t.Context(), domain, at, now); err != nil {
			t.Fatal(err)
		}
	}
	note("series", clock.now(), stale("US"))
	note("quota", clock.now(), full)
	note("series", clock.move(time.Minute), stale("US"), stale("DE"))
	note("quota", clock.now(), full)
	note("series", clock.now().Add(-time.Second)) // a process that looked earlier, and notes it late
	note("series", clock.move(time.Minute), stale("DE"))
	note("quota", clock.now())
	note("quota", clock.move(time.Minute), full)
	var got []string
	for _, e := range sendAll(t, s, sender("all", "a", clock.now())) {
		got = append(got, fmt.Sprint(e.Name, " ", string(e.Data)))
	}
	want := []string{
		`series.stale {"region":"US"}`, `quota.threshold {"percent":80}`, `series.stale {"region":"DE"}`,
		`series.fresh {"region":"US"}`, `quota.threshold {"percent":80}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func testAWatchedChannelTellsEachUploadOnce(t *testing.T, open Open) {
	s, clock := hooked(t, open, allEvents)
	clock.move(time.Minute)
	due := ingest.Slot{SlotKey: ingest.SlotKey{Job: "creators", DueAt: noon}, Kind: ingest.KindUploads, State: ingest.Due}
	AddDue(t, s, due)
	slot := Enqueue(t, s, Claim(t, s, ingest.Claim{Owner: "a", Now: clock.now(), Lease: time.Minute,
		Series: map[ingest.Series]bool{due.Series(): true}}), "x", "y", "gone")
	Finish(t, s, SaveFound(t, s, slot, []string{"x", "y", "gone"}, "x", "y"), ingest.Done, "")
	var got []string
	for _, e := range sendAll(t, s, sender("all", "a", clock.now())) {
		var u ingest.Upload
		if err := json.Unmarshal(e.Data, &u); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(e.Name, " ", u.Job, " ", u.VideoID))
	}
	if want := []string{"upload.new creators x", "upload.new creators y"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}
