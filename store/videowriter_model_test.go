package store_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

// naive is a model of a store: each video as it was last put, each channel under its last name.
type naive struct {
	videos map[string]*naiveVideo
	names  map[string]string // of channels
	charts map[time.Time][]naivePlace
}

type naiveVideo struct {
	ingest.Video
	fetched, seen, counted time.Time
	asked, since           time.Time // when look-ups left it out, last and first
}

type naivePlace struct {
	id    string
	views *int64
}

// put is videoWriter.put written in the simplest way, without regard to speed.
func (n *naive) put(v ingest.Video, at time.Time, charted bool) {
	have := n.videos[v.ID]
	if have == nil && !charted {
		return
	}
	if have == nil {
		have = &naiveVideo{seen: at}
		n.videos[v.ID] = have
	}
	have.Video, have.fetched = v, at
	if charted && at.After(have.seen) {
		have.seen = at
	}
	if v.ChannelID != "" {
		n.names[v.ChannelID] = v.Channel
	}
}

func (n *naive) forget(id string) {
	delete(n.videos, id)
	for due, places := range n.charts {
		kept := []naivePlace{}
		for _, p := range places {
			if p.id == id {
				p.id = "" // the others keep their ranks
			}
			kept = append(kept, p)
		}
		n.charts[due] = kept
	}
}

// absent notes the videos that a look-up left out, and deletes videos that an earlier one had left out too.
func (n *naive) absent(ids []string, asked int, at time.Time) {
	proved := asked < 5 || len(ids)*5 <= asked
	again := 0
	for _, id := range ids {
		if v := n.videos[id]; v != nil && v.asked.After(v.fetched) && !v.since.IsZero() && !v.since.After(at.Add(-ingest.RecheckAfter)) {
			again++
		}
	}
	for _, id := range ids {
		v := n.videos[id]
		switch {
		case v == nil:
		case proved && again == len(ids) && len(ids) < asked:
			delete(n.videos, id) // its places stay
		default:
			if !v.asked.After(v.fetched) {
				v.since = time.Time{}
			}
			if v.asked = at; proved && v.since.IsZero() {
				v.since = at
			}
		}
	}
}

func (n *naive) chart(due time.Time, page ingest.Page, at time.Time) {
	for _, v := range page.Videos {
		if v.ID == "" {
			continue
		}
		n.put(v, at, true)
		if !slices.ContainsFunc(n.charts[due], func(p naivePlace) bool { return p.id == v.ID }) {
			n.charts[due] = append(n.charts[due], naivePlace{v.ID, v.Views})
		}
	}
}

func (n *naive) sweep(now time.Time) {
	cutoff := now.Add(-ingest.KeepFor)
	maps.DeleteFunc(n.charts, func(due time.Time, _ []naivePlace) bool { return due.Before(cutoff) })
	used := map[string]bool{}
	for id, v := range n.videos {
		if v.fetched.Before(cutoff) {
			n.forget(id)
		} else {
			used[v.ChannelID] = true
		}
	}
	maps.DeleteFunc(n.names, func(id, _ string) bool { return !used[id] })
}

// lines returns all that it holds, as linesOf reads it.
func (n *naive) lines() []string {
	var lines []string
	for id, name := range n.names {
		lines = append(lines, "channel "+line(id, name))
	}
	for id, v := range n.videos {
		name, tags := v.Channel, []byte("[]")
		if v.ChannelID != "" {
			name = n.names[v.ChannelID]
		}
		if v.Tags != nil {
			tags, _ = json.Marshal(v.Tags)
		}
		var published, counted any
		if !v.PublishedAt.IsZero() {
			published = v.PublishedAt.Unix()
		}
		if !v.counted.IsZero() {
			counted = v.counted.UnixMilli()
		}
		lines = append(lines, "video "+line(id, v.Title, v.ChannelID, string(tags), v.Description, published, int(v.Duration.Seconds()), v.Live, v.Category,
			v.Language, v.Thumbnail, v.Views, v.Likes, v.Comments, v.fetched.UnixMilli(), v.seen.UnixMilli(), counted, v.fetched.UnixMilli()/day.Milliseconds()))
		for column, all := range map[string]string{"title": v.Title, "channel": name, "tags": strings.Join(v.Tags, "\n"), "description": v.Description} {
			for i, term := range strings.Fields(text.Normalize(all)) {
				lines = append(lines, "term "+line(id, column, i, term))
			}
		}
	}
	for due, places := range n.charts {
		for i, p := range places {
			if p.id != "" {
				lines = append(lines, "place "+line(due.Unix(), i+1, p.id, p.views))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// line formats values alike, whether they come from Go or from SQLite.
func line(values ...any) string {
	var b strings.Builder
	for _, v := range values {
		switch v := v.(type) {
		case *int64:
			if v == nil {
				b.WriteString("NULL ")
			} else {
				fmt.Fprintf(&b, "%d ", *v)
			}
		case nil:
			b.WriteString("NULL ")
		case bool:
			fmt.Fprintf(&b, "%d ", map[bool]int{true: 1}[v])
		case string:
			fmt.Fprintf(&b, "%q ", v)
		default:
			fmt.Fprintf(&b, "%d ", v)
		}
	}
	return b.String()
}

// linesOf reads a store's content; db has a table of the terms in its index, terms.
func linesOf(t *testing.T, db *sql.Conn) []string {
	t.Helper()
	var lines []string
	for _, query := range []string{
		`SELECT 'channel', channel_id, title FROM channels`,
		`SELECT 'video', video_id, videos.title, coalesce(channel_id, ''), tags, coalesce(text, ''), published_at, duration_s, live, category, language, thumbnail,
			views, likes, comments, fetched_at, seen_at, counted_at, fetched_day FROM videos LEFT JOIN channels ON channels.id = channel
			LEFT JOIN descriptions ON video = videos.id`,
		`SELECT 'place', due_at, rank, video_id, placements.views FROM placements JOIN slots ON slots.id = slot JOIN video_facts ON video_facts.id = video`,
		`SELECT 'term', video_id, col, offset, term FROM temp.terms JOIN video_facts ON id = doc`,
	} {
		lines = append(lines, rowsOf(t, db, query)...)
	}
	slices.Sort(lines)
	return lines
}

// rowsOf returns the rows of a query, one line each.
func rowsOf(t *testing.T, db *sql.Conn, query string) (lines []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, _ := rows.Columns()
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(values[0], " ", line(values[1:]...)))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// modelled is a store, its model, and the dice.
type modelled struct {
	*testing.T
	*rand.Rand

	s     *store.Store
	clock *handClock
	want  naive
	due   time.Time // of the last slot
}

var modelIDs = []string{"a", "b", "c", "d", "e", "f", "g", "h", "1", "n\\ul", "n", "<&>\u2028", "\uFFFD", ""}

func (m *modelled) id() string { return modelIDs[m.IntN(len(modelIDs))] }

func (m *modelled) video() ingest.Video {
	one := func(of ...string) string { return of[m.IntN(len(of))] }
	v := ingest.Video{ID: m.id(), Title: one("red", "blue", "red blue", "gr\u2028een"), Category: one("1", "1", "1", "2")}
	v.ChannelID = one("", "C1", "C1", "C2", "C3", "c\\")
	v.Channel = one("one", "one", "one", "two", v.ID)
	if m.IntN(4) == 0 {
		v.Tags = strings.Fields(one("", "x", "x y", "y x"))
		v.Description = one("", "x y", "y")
		v.Language, v.Thumbnail = one("", "de"), one("", "t", "u")
		v.Live, v.Duration = m.IntN(2) == 0, time.Duration(m.IntN(3))*time.Second
		v.PublishedAt = time.Unix(int64(m.IntN(3)-1), 0)
	}
	if m.IntN(3) > 0 {
		v.Views, v.Likes = count(m.Int64N(9)), count(m.Int64N(3))
	}
	return v
}

// page returns few videos or many, often ones that the store already has.
func (m *modelled) page() ingest.Page {
	var p ingest.Page
	for range []int{0, 1, 2, 3, 9, 30, 51, 60}[m.IntN(8)] {
		v := m.video()
		if have := m.want.videos[v.ID]; have != nil && m.IntN(3) > 0 {
			views := v.Views
			v = have.Video
			if v.Views = views; v.ChannelID != "" && m.IntN(3) > 0 {
				v.Channel = m.want.names[v.ChannelID]
			}
		}
		p.Videos = append(p.Videos, v)
	}
	return p
}

// asked returns some ids, each once.
func (m *modelled) asked() []string {
	var ids []string
	for range m.IntN(6) {
		if id := m.id(); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (m *modelled) claim(job string, kind ingest.Kind) ingest.Slot {
	m.due = m.due.Add(time.Hour)
	slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: job, Key: "US", DueAt: m.due}, Kind: kind, State: ingest.Due}
	addDue(m.T, m.s, slot)
	c := by("test", m.due)
	c.Series = map[ingest.Series]bool{slot.Series(): true}
	slot = claim(m.T, m.s, c)
	slot.FetchedAt = m.clock.now()
	return slot
}

// end makes the slot's next write its last.
func end(slot ingest.Slot) ingest.Slot {
	slot.State = ingest.Done
	return slot
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// charts saves a chart of a few pages, and sometimes starts over after the second.
func (m *modelled) charts(context.Context) {
	slot := m.claim("chart", ingest.KindChart)
	for pages := 1 + m.IntN(3); ; pages-- {
		if slot.Pages++; slot.Pages == 3 && m.IntN(2) == 0 {
			slot.Pages = 1
			delete(m.want.charts, slot.DueAt)
		}
		if pages == 1 {
			slot = end(slot)
		}
		p := m.page()
		slot.FetchedAt = m.clock.now()
		m.want.chart(slot.DueAt, p, slot.FetchedAt)
		slot = must[ingest.Slot](m.T)(m.s.SavePage(m.Context(), slot, p))
		if got := len(m.want.charts[slot.DueAt]); slot.Videos != got {
			m.Fatalf("the slot has %d videos, want %d", slot.Videos, got)
		}
		if pages == 1 {
			return
		}
	}
}

// looksUp requests videos by id, by a refresh or by a search.
func (m *modelled) looksUp(ctx context.Context) {
	job, kind, save := "refresh", ingest.KindRefresh, m.s.SaveVideos
	m.clock.move(time.Duration(m.IntN(2)) * time.Hour)
	if m.IntN(2) == 0 {
		job, kind, save = "search", ingest.KindSearch, m.s.SaveFound
	}
	slot, asked, p := m.claim(job, kind), m.asked(), m.page()
	gone := slices.Clone(asked)
	for _, v := range p.Videos {
		if at := slices.Index(gone, v.ID); at >= 0 {
			gone = slices.Delete(gone, at, at+1)
			m.want.put(v, slot.FetchedAt, kind == ingest.KindSearch)
		}
	}
	m.want.absent(gone, len(asked), slot.FetchedAt)
	if _, _, err := save(ctx, end(slot), ingest.Asked{IDs: asked}, p); err != nil {
		m.Fatal(err)
	}
}

func (m *modelled) counts(ctx context.Context) {
	slot, asked := m.claim("counts", ingest.KindRefresh), m.asked()
	var counts []ingest.Counts
	for _, id := range asked {
		v := m.want.videos[id]
		if v != nil {
			v.counted = slot.FetchedAt
		}
		if m.IntN(3) > 0 {
			counts = append(counts, ingest.Counts{ID: id, Views: count(m.Int64N(9)), Comments: count(7)})
			if v != nil {
				c := counts[len(counts)-1]
				v.Views, v.Likes, v.Comments = c.Views, c.Likes, c.Comments
			}
		}
	}
	must[ingest.Slot](m.T)(m.s.SaveCounts(ctx, end(slot), asked, counts))
}

func (m *modelled) sweeps(ctx context.Context) {
	if _, _, err := m.s.Sweep(ctx, m.clock.now()); err != nil {
		m.Fatal(err)
	}
	m.want.sweep(m.clock.now())
}

// asks compares the videos to be fetched again.
func (m *modelled) asks(ctx context.Context) {
	now := m.clock.now().Add(time.Duration(m.IntN(60)) * day)
	var stale, uncounted, older []string
	for id, v := range m.want.videos {
		if v.fetched.Before(now.Add(-ingest.RefreshAfter)) && !v.seen.Before(now.Add(-ingest.KeepFor)) && !v.asked.After(v.fetched) {
			stale = append(stale, id)
		}
		if v.fetched.Before(now) && (v.counted.IsZero() || v.counted.Before(now)) {
			uncounted = append(uncounted, id)
		}
		if v.fetched.Before(now) {
			older = append(older, id)
		}
	}
	var pages []string
	for ids, err := range m.s.Older(ctx, now, 1+m.IntN(4)) {
		pages = append(pages, must[[]string](m.T)(ids, err)...)
	}
	for what, ids := range map[string][2][]string{
		"stale": {must[[]string](m.T)(m.s.VideosToRefresh(ctx, now, 0, 99)), stale}, "older": {pages, older},
		"uncounted": {must[[]string](m.T)(m.s.VideosToCount(ctx, now, 99)), uncounted},
	} {
		if got, want := slices.Sorted(slices.Values(ids[0])), slices.Sorted(slices.Values(ids[1])); !slices.Equal(got, want) {
			m.Fatalf("%s at %v: %q, want %q", what, now, got, want)
		}
	}
}

func (m *modelled) compare(ctx context.Context, step int) {
	m.Helper()
	db := raw(m.T, m.s.Path())
	defer func() { _ = db.Close() }()
	conn := must[*sql.Conn](m.T)(db.Conn(ctx))
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, `CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, video_text, instance)`); err != nil {
		m.Fatal(err)
	}
	got, want := linesOf(m.T, conn), m.want.lines()
	if slices.Equal(got, want) {
		return
	}
	for _, l := range got {
		if !slices.Contains(want, l) {
			m.Errorf("has   %s", l)
		}
	}
	for _, l := range want {
		if !slices.Contains(got, l) {
			m.Errorf("lacks %s", l)
		}
	}
	m.Fatalf("step %d: what the store holds is not what was put into it", step)
}

// The clock jumps ahead, stands still, and goes back, also across a day.
var modelJumps = []time.Duration{0, 0, time.Millisecond, time.Hour, 13 * time.Hour, 3 * day, 9 * day, -time.Millisecond, -2 * time.Hour, -day}

func TestTheStoreEqualsANaiveOne(t *testing.T) {
	begins, steps := []time.Time{noon, noon.Truncate(day), noon.Add(time.Nanosecond)}, 40
	if raced {
		begins, steps = begins[:1], 8
	}
	for seed, begin := range begins {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := modelled{T: t, Rand: rand.New(rand.NewPCG(uint64(seed), 1)), due: begin, clock: &handClock{t: begin}}
			m.want = naive{videos: map[string]*naiveVideo{}, names: map[string]string{}, charts: map[time.Time][]naivePlace{}}
			m.s = open(t, t.TempDir(), m.clock)
			does := []func(context.Context){m.charts, m.charts, m.charts, m.looksUp, m.looksUp, m.counts, m.sweeps, m.asks}
			for step := range steps {
				now := m.clock.move(modelJumps[m.IntN(len(modelJumps))])
				if now.After(m.due) {
					m.due = now.Truncate(time.Second)
				}
				does[m.IntN(len(does))](t.Context())
				m.compare(t.Context(), step)
			}
			if found, err := m.s.CheckOpen(t.Context()); err != nil || len(found) > 0 {
				t.Errorf("check says %q, %v, want none", found, err)
			}
		})
	}
}
