package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
)

// ranking says in which order, after which position and how many matches are wanted.
type ranking struct {
	order Order
	after *position // nil: from the first
	limit int
}

// arguments are the arguments of a statement.
type arguments []any

// add appends an argument and returns its name in the statement.
func (a *arguments) add(value any) string {
	*a = append(*a, value)
	return fmt.Sprintf("?%d", len(*a))
}

// fewRead is the number of matches up to which all are read at once. A variable, so that a test can compare both ways.
var fewRead = 500

// rank returns the first of these videos that pass the filters, in the order. Where views decide, it reads the most
// watched first, level by level, until no others can be among the first. A later page reads all, as its order is by
// the counts when the first page was read.
func (f *finder) rank(ctx context.Context, videos []int64, r ranking) (found []candidate, err error) {
	if len(videos) <= fewRead || f.q.After != "" {
		return f.rankAll(ctx, videos, r)
	}
	if err := f.readTraits(ctx); err != nil {
		return nil, err
	}
	levels := f.traits.byLevel(videos, traitOf(&f.q.MinViews, f.q.Category), f.q.Category == "")
	if r.order == ByFreshness || r.order == ByRise { // do not depend on the views that a video has now
		if f.q.picky() {
			videos = slices.Concat(levels[:]...)
			newestFirst(videos) // neighbours are read from the same page
		}
		if r.order == ByRise {
			return f.rankRisen(ctx, videos, r)
		}
		last, err := f.lastSeen(ctx, videos, r.limit+r.limit/4)
		if err != nil {
			return nil, err
		}
		if found, err = f.rankAll(ctx, last, r); err != nil || len(found) == r.limit {
			return found, err
		}
		return f.rankAll(ctx, videos, r)
	}
	var next []int64
	for level := maxLevel; level >= 0; level-- {
		next = append(next, levels[level]...)
		if level > 0 && len(found)+len(next) < r.limit {
			continue
		}
		more, err := f.rankAll(ctx, next, r)
		if err != nil {
			return nil, err
		}
		found, next = append(found, more...), nil
		byPosition(found)
		found = found[:min(len(found), r.limit)]
		if level > 0 && len(found) == r.limit && f.outranks(found[r.limit-1], r.order, byte(level)) {
			break
		}
	}
	return found, nil
}

// lastSeen returns at least so many of the videos: the last seen, with all that were seen together with one of them;
// none if these are very many.
func (f *finder) lastSeen(ctx context.Context, videos []int64, many int) (last []int64, err error) {
	limit := 8*fewRead + 2*many
	seen, err := numbersOf(f.tx.QueryRowContext(ctx, `
		SELECT group_concat(id || ' ' || seen_at, ' ') FROM (
			SELECT latest.id AS id, seen_at FROM json_each(?1) AS given CROSS JOIN video_latest AS latest ON latest.id = CAST(given.value AS bigint)
			ORDER BY seen_at DESC LIMIT ?2
		) AS freshest`, listJSON(videos), limit))
	if len(seen) < 2*many || len(seen) == 2*limit && seen[2*many-1] == seen[2*limit-1] {
		return nil, err
	}
	for i := 0; i < len(seen) && seen[i+1] >= seen[2*many-1]; i += 2 {
		last = append(last, seen[i])
	}
	return last, err
}

// rankRisen is rank by views gained. It reads counts only of videos that a chart has twice, which the index tells; the
// others follow by popularity.
func (f *finder) rankRisen(ctx context.Context, videos []int64, r ranking) (found []candidate, err error) {
	charts, err := f.regionCharts(ctx)
	if err != nil {
		return nil, err
	}
	var twice []int64
	for series, charted := range charts {
		in := slices.DeleteFunc(slices.Clone(videos), func(id int64) bool { return !charted.has(id) })
		ids, err := numbersOf(f.tx.QueryRowContext(ctx, `
			SELECT group_concat(CAST(value AS text), ' ') FROM json_each(?1) WHERE (
				SELECT slot FROM placements WHERE video = CAST(value AS bigint) AND series = ?2 AND slot <= ?3 LIMIT 1 OFFSET 1
			) IS NOT NULL`, listJSON(in), series, f.after.Slot))
		if err != nil {
			return nil, err
		}
		twice = append(twice, ids...)
	}
	newestFirst(twice)
	twice = slices.Compact(twice)
	found, err = f.rankAll(ctx, twice, r)
	if err != nil || len(found) == r.limit && found[r.limit-1].Key[0] > notGained {
		return found, err
	}
	others, err := f.rank(ctx, matches{ids: videos}.without(twice), ranking{limit: r.limit})
	for _, c := range others {
		c.Key = [3]float64{notGained, c.Key[0]}
		found = append(found, c)
	}
	byPosition(found)
	return found[:min(len(found), r.limit)], err
}

// readTraits reads the traits of all videos, once.
func (f *finder) readTraits(ctx context.Context) (err error) {
	if f.traits != nil {
		return nil
	}
	// No video was seen later than fetched: see schema.sql.
	err = f.tx.QueryRowContext(ctx, `SELECT coalesce(max(fetched_day) + 1, 0) * 86400000 FROM video_facts`).Scan(&f.newestSeen)
	if err == nil {
		f.traits, err = readTraits(ctx, f.tx)
	}
	return err
}

// outranks reports whether the candidate comes before all videos below the level, however fresh they are.
func (f *finder) outranks(c candidate, order Order, level byte) bool {
	if order == ByViews {
		return c.Key[0] >= viewsAt(level)
	}
	return c.Key[0] >= math.Log(1+viewsAt(level))+float64(f.newestSeen)/freshness
}

// rankAll is rank by reading all videos. Conditions on anything but counts are checked video by video until there are
// enough.
func (f *finder) rankAll(ctx context.Context, videos []int64, r ranking) (found []candidate, err error) {
	if len(videos) == 0 {
		return nil, nil
	}
	given, id, err := f.given(ctx, videos, r.order)
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
	// Almost every id is already known to be in the region, so that a few more than needed are read first, and all
	// only if these do not suffice.
	enough := r.limit + r.limit/4
	first := fmt.Sprintf(" LIMIT %d", enough)
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
		if err != nil || first == "" || len(found) == r.limit || len(videos) <= r.limit {
			return found, err
		}
		first = ""
	}
}

// given returns the videos as the first argument of rankMatches, a JSON array, and the expression for the id in one of
// its elements. For ByRise an element is [id, series, ...], with the series of the query's region, or of any, that may
// have charted the video.
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

// column writes a video's count or time as an expression. On a later page its value is as of the first page: that of
// the newest placement then.
func (f *finder) column(args *arguments, now, then string) string {
	if f.q.After == "" {
		return "latest." + now
	}
	seen, slot := args.add(f.after.Seen), args.add(f.after.Slot)
	placed := "FROM placements JOIN slots ON slots.id = slot WHERE video = latest.id AND slot <= " + slot
	return fmt.Sprintf("iif(latest.seen_at <= %s OR NOT EXISTS (SELECT 1 %s), latest.%s, (SELECT %s %s ORDER BY slot DESC LIMIT 1))", seen, placed, now, then, placed)
}

// freshness is the time in milliseconds (20 days): being seen so much later counts as much in a video's popularity as
// e times the views.
const freshness = 1.728e9

// keys returns the three sort keys, largest first; unknown values sort last.
func (f *finder) keys(args *arguments, order Order, views, seen string) [3]string {
	popularity := fmt.Sprintf("ln(1.0 + max(coalesce(%s, 0), 0)) + %s / %g", views, seen, freshness)
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

// risen is the expression for the views that a video has gained between its last two counts in a chart, the most of
// all charts in given. Within a series, slots with placements have ids in due order, so that the greatest, up to the
// last slot that counts, is the last sighting.
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

// filters writes the query's filters as conditions, own on a video's counts and elsewhere on other tables, the
// cheapest first. The CASE makes Postgres check the region video by video.
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
