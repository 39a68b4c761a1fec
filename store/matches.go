package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/store/text"
)

// The bounds of a search. They are variables so that a test can make them apply to a small store.
var (
	// maxMatches is how many matches are ranked: the newest.
	maxMatches = 20_000
	// maxScored is how many of them are scored by their text: those most watched; if more match, first as many of those
	// with all words in title or channel.
	maxScored = 300
)

const (
	// fewMatches is how many matches are enough for a query not to be forgiven.
	fewMatches = 3
	// notGained is less than a video can gain.
	notGained = -1e15
)

// matches are the videos that a query finds, the newest id first, no more than maxMatches.
type matches struct {
	ids    []int64 // those that the query's region may have charted
	all    int     // how many there are in all regions
	capped bool    // more match
}

// match returns the newest atMost videos that an FTS5 expression finds. The index is asked once in a search for each
// expression, and not for bm25, which first counts all matches of every word. Read as one text, twenty thousand ids
// take a tenth of the time.
func (f *finder) match(ctx context.Context, expr string, atMost int) (m matches, err error) {
	if known, ok := f.walked[expr]; ok {
		return known, nil
	}
	const walk = `SELECT group_concat(CAST(id AS text), ' ') FROM (SELECT rowid AS id FROM video_text WHERE video_text MATCH ?1 AND rowid <= ?2%s LIMIT ?3) AS found`
	var ids sql.NullString
	// SQLite walks several lists from the oldest on in two thirds of the time; if too many match, from the newest on.
	for _, order := range []string{"", " ORDER BY rowid DESC"} {
		if order == "" && (f.newest || !strings.Contains(expr, " AND ")) {
			continue
		}
		if err := f.tx.QueryRowContext(ctx, fmt.Sprintf(walk, order), expr, f.after.Video, atMost+1).Scan(&ids); err != nil {
			return m, err
		}
		if m.all = strings.Count(ids.String, " "); m.all < atMost {
			break
		}
		f.newest = true
	}
	m.ids = make([]int64, 0, m.all+1)
	for rest := ids.String; rest != ""; {
		id := int64(0)
		for ; rest != "" && rest[0] != ' '; rest = rest[1:] {
			id = 10*id + int64(rest[0]-'0')
		}
		m.ids, rest = append(m.ids, id), strings.TrimPrefix(rest, " ")
	}
	newestFirst(m.ids)
	if m.capped = len(m.ids) > atMost; m.capped {
		m.ids = m.ids[:atMost]
	}
	if m.all = len(m.ids); m.all > 0 && f.q.Region != "" {
		charts, err := f.regionCharts(ctx)
		if err != nil {
			return m, err
		}
		m.ids = slices.DeleteFunc(m.ids, func(id int64) bool { return !charts.mayHold(id) })
	}
	f.walked[expr] = m
	return m, nil
}

// regionCharts returns the charts of the query's region, or of all.
func (f *finder) regionCharts(ctx context.Context) (_ *regionCharts, err error) {
	if f.charts == nil {
		f.charts, err = readRegionCharts(ctx, f.tx, f.q.Region)
	}
	return f.charts, err
}

func newestFirst(ids []int64) {
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) })
}

// butOne finds videos that meet all clauses but one, among the newest matches of each clause; more clauses mean fewer
// per clause.
func (f *finder) butOne(ctx context.Context, query text.Query) (m matches, err error) {
	each := query.Each()
	if len(each) < 2 {
		return m, nil
	}
	var ids []int64
	for _, clause := range each {
		of, err := f.match(ctx, clause.Match(false), 2*maxMatches/len(each))
		if err != nil {
			return m, err
		}
		ids, m.capped = append(ids, of.ids...), m.capped || of.capped
	}
	newestFirst(ids)
	met := 0
	for i, id := range ids {
		if met++; i+1 < len(ids) && ids[i+1] == id {
			continue
		}
		if met >= len(each)-1 {
			m.ids = append(m.ids, id)
		}
		met = 0
	}
	m.all = len(m.ids)
	return m, nil
}

// picky reports whether a filter may leave few of those that a region's charts hold.
func (q Query) picky() bool {
	return q.Category != "" || q.MinViews > 0 || !q.PublishedSince.IsZero() || !q.PublishedUntil.IsZero() || !q.SeenSince.IsZero()
}

// without returns the matches that are not among others.
func (m matches) without(others []int64) (rest []int64) {
	for _, id := range m.ids {
		for len(others) > 0 && others[0] > id {
			others = others[1:]
		}
		if len(others) == 0 || others[0] != id {
			rest = append(rest, id)
		}
	}
	return rest
}

// byID finds a video whose id is the query, or is part of it as in a URL: each run of six or more idLetters is tried.
// A query with spaces is neither.
func (f *finder) byID(ctx context.Context, query string) ([]int64, error) {
	ids := strings.FieldsFunc(query, func(r rune) bool { return r > 'z' || !strings.ContainsRune(idLetters, r) })
	ids = slices.DeleteFunc(ids, func(id string) bool { return len(id) < 6 })
	if len(ids) == 0 || strings.ContainsAny(query, " \t\n") {
		return nil, nil
	}
	return column[int64](ctx, f.tx, `
		SELECT id FROM video_facts WHERE video_id IN (SELECT value FROM json_each(?1)) AND id <= ?2 ORDER BY id DESC LIMIT ?3`, listJSON(ids), f.after.Video, maxMatches)
}

const idLetters = "-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// widen chooses what the query finds and returns the first of it. The query is taken as typed; if that is not enough,
// its last word may also be the beginning of a word; and if few match, the query is forgiven: other spellings of its
// words count, then one word may be missing. A filter that passes few is no reason to forgive. In any order but
// ByRelevance a query is widened only while it finds nothing, so that nothing else is mixed with what was asked for.
func (f *finder) widen(ctx context.Context, r ranking) (candidates []candidate, err error) {
	id := strings.TrimSpace(f.q.Text)
	if f.among.ids, err = f.byID(ctx, id); err != nil {
		return nil, err
	}
	if candidates, err = f.rank(ctx, f.among.ids, r); err != nil || len(candidates) > 0 {
		f.looked = "the video " + id
		return candidates, err
	}
	f.among = matches{}
	few, enough := fewMatches, maxScored
	if f.q.Order != ByRelevance {
		few, enough = 1, 1
	} else if candidates, err = f.findInNames(ctx, r); err != nil || f.onlyInNames {
		return candidates, err
	}
	query := f.query
	for forgive := range 4 {
		switch {
		case forgive == 1 && max(len(candidates), len(f.among.ids)) >= enough, forgive > 1 && max(len(candidates), f.among.all) >= few:
			return candidates, nil
		case forgive == 1:
			query = query.Open()
		case forgive == 2:
			if query, err = query.Forgive(f.words.vocabulary(ctx)); err != nil {
				return nil, err
			}
		}
		var found matches
		if forgive < 3 {
			found, err = f.match(ctx, query.Match(false), maxMatches)
		} else {
			found, err = f.butOne(ctx, query)
		}
		if err != nil {
			return nil, err
		}
		var fresh []candidate
		if len(candidates) < maxScored {
			if fresh, err = f.rank(ctx, found.without(f.among.ids), r); err != nil {
				return nil, err
			}
		}
		if len(fresh) > 0 || f.looked == "" {
			f.query, f.among, f.looked, f.forgiven = query, found, query.Explain(forgive == 3), forgive > 1 && len(fresh) > 0
		}
		candidates = append(candidates, fresh...)
	}
	return candidates, nil
}

// findInNames tries, if more videos match than are scored, those with the words in title or channel first; most others
// are only tagged.
func (f *finder) findInNames(ctx context.Context, r ranking) (candidates []candidate, err error) {
	if len(f.query) > 2 { // three clauses say enough for the last word to be the beginning of one
		f.query = f.query.Open()
	}
	// One word is found as fast in the names as anywhere; if that gives enough candidates, the other videos can wait.
	all := matches{}
	wait := f.query.IsWord() && !f.q.picky()
	if !wait {
		all, err = f.match(ctx, f.query.Match(false), maxMatches)
		if err != nil || len(all.ids) <= maxScored {
			return nil, err
		}
	}
	if f.q.picky() { // its filters may leave no more than are scored
		if candidates, err = f.rank(ctx, all.ids, r); err != nil || len(candidates) < maxScored {
			f.among = all
			return candidates, err
		}
	}
	if f.among, err = f.match(ctx, f.query.Match(true), maxMatches); err != nil {
		return nil, err
	}
	candidates, err = f.rank(ctx, f.among.ids, r)
	if f.onlyInNames = wait && len(candidates) == maxScored; err == nil && f.onlyInNames {
		f.looked = f.query.Explain(false)
		if !f.among.capped {
			word, prefix := f.query.Word()
			f.among.capped, err = f.words.has(ctx, f.query.Match(false), word, prefix, maxMatches+1)
		}
	}
	return candidates, err
}

// ranking says in which order, after which position and how many matches are wanted.
type ranking struct {
	order Order
	after *position // nil from the first on
	limit int
}

// arguments are the arguments of a statement.
type arguments []any

// add appends one and returns its name in the statement.
func (a *arguments) add(value any) string {
	*a = append(*a, value)
	return fmt.Sprintf("?%d", len(*a))
}

// rank returns the first of these videos that pass the filters, in the order. A condition on anything but their counts
// is checked for one video after the other, until there are enough.
func (f *finder) rank(ctx context.Context, of []int64, r ranking) (found []candidate, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	given, id, err := f.given(ctx, of, r.order)
	if err != nil {
		return nil, err
	}
	args := arguments{given}
	views, seen := f.column(&args, "views", "placements.views"), f.column(&args, "seen_at", "fetched_at")
	key := f.keys(&args, r.order, views, seen)
	own, elsewhere := f.filters(&args, views, seen)
	if r.after != nil {
		elsewhere = fmt.Sprintf("\n  AND (first, second, third, -id) < (%s, %s, %s, -%s)",
			args.add(r.after.Key[0]), args.add(r.after.Key[1]), args.add(r.after.Key[2]), args.add(r.after.ID)) + elsewhere
	}
	// Almost every id is already known to be in the region, so a few more than needed are read first, and all only if
	// those do not suffice.
	first := fmt.Sprintf(" LIMIT %d", r.limit+r.limit/4)
	if r.after != nil || f.q.picky() {
		first = ""
	}
	limit := args.add(r.limit)
	for {
		found = nil
		err = each(ctx, f.tx, func(rows *sql.Rows) error {
			var c candidate
			err := rows.Scan(&c.ID, &c.Key[0], &c.Key[1], &c.Key[2])
			found = append(found, c)
			return err
		}, fmt.Sprintf(rankMatches, key[0], key[1], key[2], id, own, first, elsewhere, limit), args...)
		if err != nil || first == "" || len(found) == r.limit || len(of) <= r.limit {
			return found, err
		}
		first = ""
	}
}

// given returns the videos as the first argument of rankMatches, a JSON array, and the expression for the id in one of
// its elements. ByRise needs more than the id: [id, series, ...], with the series of the query's region, or of any, whose
// charts may hold the video.
func (f *finder) given(ctx context.Context, videos []int64, order Order) (list asJSON, id string, err error) {
	if order != ByRise {
		return listJSON(videos), "given.value", nil
	}
	charts, err := f.regionCharts(ctx)
	if err != nil {
		return list, "", err
	}
	rows := make([][]int64, len(videos))
	for i, video := range videos {
		rows[i] = append([]int64{video}, charts.of(video)...)
	}
	return listJSON(rows), "given.value ->> 0", nil
}

const rankMatches = `
WITH ranked AS MATERIALIZED (
	SELECT latest.id AS id, %s AS first, %s AS second, %s AS third
	FROM json_each(?1) AS given CROSS JOIN video_latest AS latest ON latest.id = CAST(%s AS bigint)
	WHERE true%s
	ORDER BY 2 DESC, 3 DESC, 4 DESC, 1%s
)
SELECT id, first, second, third FROM ranked WHERE true%s LIMIT %s`

// column writes a count or time of a video as an expression. On a later page it is what it was when the first was
// read: that of the newest placement then.
func (f *finder) column(args *arguments, now, then string) string {
	if f.q.After == "" {
		return "latest." + now
	}
	seen, slot := args.add(f.after.Seen), args.add(f.after.Slot)
	placed := "FROM placements JOIN slots ON slots.id = slot WHERE video = latest.id AND slot <= " + slot
	return fmt.Sprintf("iif(latest.seen_at <= %s OR NOT EXISTS (SELECT 1 %s), latest.%s, (SELECT %s %s ORDER BY slot DESC LIMIT 1))", seen, placed, now, then, placed)
}

// keys returns the three sort keys, largest first; unknown values sort last.
func (f *finder) keys(args *arguments, order Order, views, seen string) [3]string {
	// Popularity: to have been seen 20 days later counts as much as e times the views.
	popularity := "ln(1.0 + max(coalesce(" + views + ", 0), 0)) + " + seen + " / 1.728e9"
	switch order {
	case ByViews:
		return [3]string{"coalesce(" + views + ", -1)", popularity, "0"}
	case ByFreshness:
		return [3]string{seen, "coalesce((SELECT published_at FROM video_facts WHERE id = latest.id), 0)", popularity}
	case ByRise:
		return [3]string{fmt.Sprintf("coalesce("+risen+", %[2]g)", args.add(f.after.Slot), notGained), popularity, "0"}
	default:
		return [3]string{popularity, "coalesce(" + views + ", 0)", "0"}
	}
}

// risen is the expression for the views that a video has gained between its last two counts in a chart: the largest of
// all charts that given lists. Within a series, slots with placements are numbered in the order in which they were due,
// so the greatest number, up to the last slot that counts, is the last sighting.
const risen = `(
	SELECT max((
		SELECT views FROM placements
		WHERE video = latest.id AND series = CAST(chart.value AS bigint) AND slot <= %[1]s AND views IS NOT NULL
		ORDER BY slot DESC LIMIT 1
	) - (
		SELECT views FROM placements
		WHERE video = latest.id AND series = CAST(chart.value AS bigint) AND slot <= %[1]s AND views IS NOT NULL
		ORDER BY slot DESC LIMIT 1 OFFSET 1
	)) FROM json_each(given.value) AS chart WHERE chart.key > 0)`

// filters writes the query's filters as conditions, own on a video's counts and elsewhere on other tables, the cheapest
// first. Because of the CASE, Postgres too checks the region of one video after the other.
func (f *finder) filters(args *arguments, views, seen string) (own, elsewhere string) {
	and := func(to *string, set bool, condition string, arg any) {
		if set {
			*to += fmt.Sprintf("\n  AND "+condition, args.add(arg))
		}
	}
	const fact = "(SELECT %s FROM video_facts WHERE video_facts.id = ranked.id)"
	and(&own, f.q.MinViews > 0, views+" >= %s", f.q.MinViews)
	and(&own, !f.q.SeenSince.IsZero(), seen+" >= %s", ceilMillis(f.q.SeenSince))
	and(&elsewhere, f.q.Category != "", fmt.Sprintf(fact, "category")+" = %s", f.q.Category)
	and(&elsewhere, !f.q.PublishedSince.IsZero(), fmt.Sprintf(fact, "published_at")+" >= %s", ceilUnix(f.q.PublishedSince))
	and(&elsewhere, !f.q.PublishedUntil.IsZero(), fmt.Sprintf(fact, "published_at")+" < %s", ceilUnix(f.q.PublishedUntil))
	if f.q.Region != "" {
		elsewhere += fmt.Sprintf("\n  AND CASE WHEN EXISTS (SELECT 1 FROM placements WHERE video = ranked.id AND slot <= %s AND series IN (SELECT id FROM series WHERE backfill IS NULL AND key = %s)) THEN 1 ELSE 0 END = 1",
			args.add(f.after.Slot), args.add(f.q.Region))
	}
	return own, elsewhere
}
