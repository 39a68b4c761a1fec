package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// ranking is the order, the position to start after, and the number of wanted matches.
type ranking struct {
	order Order
	after *position // nil: from the first
	limit int
}

func (x *index) page() ranking {
	r := ranking{order: x.q.Order, limit: x.q.Limit + 1}
	if x.q.After != "" {
		r.after = &x.scope.Last
	}
	return r
}

type arguments []any

// add appends an argument and returns its name in the statement.
func (a *arguments) add(value any) string {
	*a = append(*a, value)
	return fmt.Sprintf("?%d", len(*a))
}

// notGained is less than a video can gain.
const notGained = -1e15

// fewRead is the most matches that are read at once. A variable, so that a test can compare both ways.
var fewRead = 500

// rank returns the first of these videos that pass the filters, in the order. Where views decide, it reads the most
// watched first, level by level, until no others can be among the first. A later page reads all, as its order is by
// the counts when the first page was read.
func (x *index) rank(ctx context.Context, videos []int64, r ranking) (found []candidate, err error) {
	if len(videos) <= fewRead || x.q.After != "" {
		return x.rankAll(ctx, videos, r)
	}
	if err := x.readTraits(ctx); err != nil {
		return nil, err
	}
	levels := x.kept.traits.byLevel(videos, traitOf(&x.q.MinViews, x.q.Category), x.q.Category == "")
	if r.order == ByFreshness || r.order == ByRise { // do not depend on the views that a video has now
		if x.q.picky() {
			videos = slices.Concat(levels[:]...)
			newestFirst(videos) // neighbours are read from the same page
		}
		if r.order == ByRise {
			return x.rankRisen(ctx, videos, r)
		}
		last, err := x.lastSeen(ctx, videos, r.limit+r.limit/4)
		if err != nil {
			return nil, err
		}
		if found, err = x.rankAll(ctx, last, r); err != nil || len(found) == r.limit {
			return found, err
		}
		return x.rankAll(ctx, videos, r)
	}
	var next []int64
	for level := maxLevel; level >= 0; level-- {
		next = append(next, levels[level]...)
		if level > 0 && len(found)+len(next) < r.limit {
			continue
		}
		more, err := x.rankAll(ctx, next, r)
		if err != nil {
			return nil, err
		}
		found, next = append(found, more...), nil
		byPosition(found)
		found = found[:min(len(found), r.limit)]
		if level > 0 && len(found) == r.limit && x.outranks(found[r.limit-1], r.order, byte(level)) {
			break
		}
	}
	return found, nil
}

// rankKnown is rank by popularity, with no filter but the region.
func (x *index) rankKnown(ctx context.Context, videos []int64, limit int) (found []candidate, err error) {
	if x.q.Region != "" {
		charted, err := x.chartedIn(ctx, videos)
		if err != nil {
			return nil, err
		}
		videos = slices.DeleteFunc(slices.Clone(videos), func(id int64) bool { return !charted[id] })
	}
	if err := x.known(ctx, videos); err != nil {
		return nil, err
	}
	for _, id := range videos {
		if v, ok := x.kept.videos[id]; ok {
			found = append(found, candidate{position: position{[3]float64{v.popularity, v.views}, id}})
		}
	}
	byPosition(found)
	return found[:min(len(found), limit)], nil
}

// lastSeen returns at least many of the videos: the last seen, with all that were seen together with one of them; none
// if these are very many.
func (x *index) lastSeen(ctx context.Context, videos []int64, many int) (last []int64, err error) {
	limit := 8*fewRead + 2*many
	seen, err := numbersOf(x.tx.QueryRowContext(ctx, `
		SELECT group_concat(id || ' ' || seen_at, ' ') FROM (
			SELECT latest.id AS id, seen_at FROM json_each(?1) AS given
				CROSS JOIN video_latest AS latest ON latest.id = CAST(given.value AS bigint)
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

// rankRisen is rank by views gained. It reads counts only of videos that a chart has twice, which the index shows; the
// others follow by popularity.
func (x *index) rankRisen(ctx context.Context, videos []int64, r ranking) (found []candidate, err error) {
	charts, err := x.regionCharts(ctx, x.q.Region)
	if err != nil {
		return nil, err
	}
	var twice []int64
	for series, charted := range charts {
		in := slices.DeleteFunc(slices.Clone(videos), func(id int64) bool { return !charted.has(id) })
		ids, err := numbersOf(x.tx.QueryRowContext(ctx, `
			SELECT group_concat(CAST(value AS text), ' ') FROM json_each(?1) WHERE (
				SELECT slot FROM placements WHERE video = CAST(value AS bigint) AND series = ?2 AND slot <= ?3 LIMIT 1 OFFSET 1
			) IS NOT NULL`, listJSON(in), series, x.scope.Slot))
		if err != nil {
			return nil, err
		}
		twice = append(twice, ids...)
	}
	newestFirst(twice)
	twice = slices.Compact(twice)
	found, err = x.rankAll(ctx, twice, r)
	if err != nil || len(found) == r.limit && found[r.limit-1].Key[0] > notGained {
		return found, err
	}
	others, err := x.rank(ctx, matches{ids: videos}.without(twice), ranking{limit: r.limit})
	for _, c := range others {
		c.Key = [3]float64{notGained, c.Key[0]}
		found = append(found, c)
	}
	byPosition(found)
	return found[:min(len(found), r.limit)], err
}

// outranks reports whether the candidate comes before all videos below the level, however fresh they are.
func (x *index) outranks(c candidate, order Order, level byte) bool {
	if order == ByViews {
		return c.Key[0] >= viewsAt(level)
	}
	return c.Key[0] >= math.Log(1+viewsAt(level))+float64(x.kept.newestSeen)/freshness
}

// rankAll is rank by reading all videos. Conditions on anything but counts are checked video by video until there are
// enough.
func (x *index) rankAll(ctx context.Context, videos []int64, r ranking) (found []candidate, err error) {
	if len(videos) == 0 {
		return nil, nil
	}
	if len(videos) <= fewRead && r.order == ByRelevance && x.q.After == "" && !x.q.picky() {
		return x.rankKnown(ctx, videos, r.limit)
	}
	given, id, err := x.given(ctx, videos, r.order)
	if err != nil {
		return nil, err
	}
	args := arguments{given}
	views, seen := x.column(&args, "views", "placements.views"), x.column(&args, "seen_at", "fetched_at")
	key := x.keys(&args, r.order, views, seen)
	own, elsewhere := x.filters(&args, views, seen)
	if r.after != nil {
		elsewhere = fmt.Sprintf("\n  AND (first, second, third, -id) < (%s, %s, %s, -%s)",
			args.add(r.after.Key[0]), args.add(r.after.Key[1]), args.add(r.after.Key[2]), args.add(r.after.ID)) + elsewhere
	}
	// Almost every id is already known to be in the region, so that a few more than needed are read first, and all
	// only if these do not suffice.
	enough := r.limit + r.limit/4
	first := fmt.Sprintf(" LIMIT %d", enough)
	if r.after != nil || x.q.picky() {
		first = ""
	}
	limit := args.add(r.limit)
	for {
		found = nil
		err = each(ctx, x.tx, func(rows *sql.Rows) error {
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
func (x *index) given(ctx context.Context, videos []int64, order Order) (list asJSON, id string, err error) {
	if order != ByRise {
		return listJSON(videos), "given.value", nil
	}
	charts, err := x.regionCharts(ctx, x.q.Region)
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

// column writes a video's count or time as an expression. On a later page its value is as of the first page: the
// newest placement's rank then.
func (x *index) column(args *arguments, now, then string) string {
	if x.q.After == "" {
		return "latest." + now
	}
	seen, slot := args.add(x.scope.Seen), args.add(x.scope.Slot)
	placed := "FROM placements JOIN slots ON slots.id = slot WHERE video = latest.id AND slot <= " + slot
	return fmt.Sprintf("iif(latest.seen_at <= %s OR NOT EXISTS (SELECT 1 %s), latest.%s, "+
		"(SELECT %s %s ORDER BY slot DESC LIMIT 1))", seen, placed, now, then, placed)
}

// freshness is the time in milliseconds (20 days): a video seen that much later is as popular as one with e times the
// views.
const freshness = 1.728e9

// popularity is the expression for how much a video is watched, and how lately it was seen.
func popularity(views, seen string) string {
	return fmt.Sprintf("ln(1.0 + max(coalesce(%s, 0), 0)) + %s / %g", views, seen, freshness)
}

// keys returns the three sort keys, largest first; unknown values sort last.
func (x *index) keys(args *arguments, order Order, views, seen string) [3]string {
	popularity := popularity(views, seen)
	switch order {
	case ByViews:
		return [3]string{"coalesce(" + views + ", -1)", popularity, "0"}
	case ByFreshness:
		return [3]string{seen, "coalesce((SELECT published_at FROM video_facts WHERE id = latest.id), 0)", popularity}
	case ByRise:
		return [3]string{fmt.Sprintf("coalesce("+risen+", %[2]g)", args.add(x.scope.Slot), notGained), popularity, "0"}
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
func (x *index) filters(args *arguments, views, seen string) (own, elsewhere string) {
	and := func(to *string, set bool, condition string, arg any) {
		if set {
			*to += fmt.Sprintf("\n  AND "+condition, args.add(arg))
		}
	}
	const fact = "(SELECT %s FROM video_facts WHERE video_facts.id = ranked.id)"
	and(&own, x.q.MinViews > 0, views+" >= %s", x.q.MinViews)
	and(&own, !x.q.SeenSince.IsZero(), seen+" >= %s", ceilMillis(x.q.SeenSince))
	and(&elsewhere, x.q.Category != "", fmt.Sprintf(fact, "category")+" = %s", x.q.Category)
	and(&elsewhere, !x.q.PublishedSince.IsZero(), fmt.Sprintf(fact, "published_at")+" >= %s", ceilUnix(x.q.PublishedSince))
	and(&elsewhere, !x.q.PublishedUntil.IsZero(), fmt.Sprintf(fact, "published_at")+" < %s", ceilUnix(x.q.PublishedUntil))
	if l := x.q.Length; l != (ingest.Length{}) {
		and(&elsewhere, true, fmt.Sprintf(fact, "duration_s")+" >= %s", max(int64(l.Min/time.Second), 1))
		and(&elsewhere, l.Max > 0, fmt.Sprintf(fact, "duration_s")+" <= %s", int64(l.Max/time.Second))
	}
	if x.q.Region != "" {
		elsewhere += fmt.Sprintf("\n  AND CASE WHEN EXISTS (SELECT 1 FROM placements WHERE video = ranked.id "+
			"AND slot <= %s AND series IN (SELECT id FROM series WHERE backfill IS NULL AND key = %s)) THEN 1 ELSE 0 END = 1",
			args.add(x.scope.Slot), args.add(x.q.Region))
	}
	return own, elsewhere
}
