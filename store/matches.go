package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/store/text"
)

// The bounds of a search. They are variables so that a test can make them apply to a small store.
var (
	// maxMatches is how many matches are ranked, the newest.
	maxMatches = 20_000
	// poolSize is how many of them are scored by their text, those most watched; and as many of those that have
	// all words in their titles, where more match.
	poolSize = 300
)

const (
	// fewMatches is how many matches a query needs not to be forgiven.
	fewMatches = 3
	// forgiveFor is how long other spellings are looked for.
	forgiveFor = 200 * time.Millisecond
	// notGained is less than a video can gain.
	notGained = -1e15
)

// matches is what a query finds: a query for ids, the newest up to ?2, at most ?3, and its ?1. The index walks the
// lists of the words from the newest on. bm25 would not: it counts all the matches of every word first.
type matches struct{ query, of string }

func byText(expr string) matches {
	return matches{`SELECT rowid AS id FROM video_text WHERE video_text MATCH ?1 AND rowid <= ?2 ORDER BY rowid DESC LIMIT ?3`, expr}
}

// byID finds the videos with one of these ids. No id is shorter than six characters, and none is cut by what parts a URL.
func byID(query string) (matches, bool) {
	if query = strings.TrimSpace(query); strings.ContainsAny(query, " \t\n") {
		return matches{}, false
	}
	ids := strings.FieldsFunc(query, func(r rune) bool { return r > 'z' || !strings.ContainsRune(idLetters, r) })
	ids = slices.DeleteFunc(ids, func(id string) bool { return len(id) < 6 })
	list, _ := listJSON(ids).Value() // of letters and digits
	return matches{`SELECT id FROM video_facts WHERE video_id IN (SELECT value FROM json_each(?1)) AND id <= ?2 LIMIT ?3`, fmt.Sprint(list)}, len(ids) > 0
}

const idLetters = "-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// moreThan reports whether more than n videos match, whatever the filters say of them.
func (f *finder) moreThan(ctx context.Context, n int) (bool, error) {
	var have int
	err := f.tx.QueryRowContext(ctx, `SELECT count(*) FROM (`+f.among.query+`) AS found`, f.among.of, f.after.Video, n+1).Scan(&have)
	return have > n, err
}

// widen chooses what the query is to find, and returns those of it that are worth scoring. A query is taken as it
// is; its last word as the beginning of one too, unless the pool is full; and where it finds few, it is forgiven: other
// spellings of its words, and then one word less. That a filter passes few is no reason to. In an order of its own
// nothing is mixed with what was asked for.
func (f *finder) widen(ctx context.Context) (pool []candidate, err error) {
	few, enough := fewMatches, poolSize
	if f.q.Order != ByRelevance {
		few, enough = 1, 1
	}
	if m, ok := byID(f.q.Text); ok {
		if pool, err = f.rank(ctx, m, ranking{limit: poolSize}); err != nil || len(pool) > 0 {
			f.among, f.looked = m, "the video "+strings.TrimSpace(f.q.Text)
			return pool, err
		}
	}
	query := f.query
	for forgive, step := range []struct {
		below  int
		widen  func() (err error)
		butOne bool
	}{
		{poolSize, func() error { return nil }, false},
		{enough, func() error { query, _ = query.Open(); return nil }, false},
		{few, func() (err error) { query, err = query.Forgive(f.vocabulary(ctx)); return err }, false},
		{few, func() error { return nil }, true},
	} {
		if len(pool) >= step.below {
			break
		}
		if forgive > 1 {
			if many, err := f.moreThan(ctx, few-1); err != nil || many {
				return pool, err
			}
		}
		if err := step.widen(); err != nil {
			return nil, err
		}
		expr := query.Match(false, step.butOne)
		if expr == "" {
			break
		}
		fresh, err := f.unknown(ctx, expr, pool)
		if err != nil {
			return nil, err
		}
		if len(fresh) > 0 || f.looked == "" {
			f.query, f.among, f.looked, f.forgiven = query, byText(expr), query.Explain(step.butOne), forgive > 1 && len(fresh) > 0
		}
		pool = append(pool, fresh...)
	}
	return pool, nil
}

// unknown is what of the most watched matches is not in the pool.
func (f *finder) unknown(ctx context.Context, expr string, pool []candidate) ([]candidate, error) {
	found, err := f.rank(ctx, byText(expr), ranking{limit: poolSize})
	known := map[int64]bool{}
	for _, c := range pool {
		known[c.ID] = true
	}
	return slices.DeleteFunc(found, func(c candidate) bool { return known[c.ID] }), err
}

// errEnough ends a look through the vocabulary.
var errEnough = errors.New("enough words")

// vocabulary is that of the index, as far as it can be read in time: to count what has a word takes the longer, the more
// have it.
func (f *finder) vocabulary(ctx context.Context) text.Vocabulary {
	began := time.Now()
	return text.Vocabulary{
		Like: func(prefix string, word func(string, int)) error {
			err := each(ctx, f.tx, func(rows *sql.Rows) error {
				var term string
				var videos int
				err := rows.Scan(&term, &videos)
				word(term, videos)
				if err == nil && time.Since(began) > forgiveFor {
					err = errEnough
				}
				return err
			}, `SELECT term, doc FROM video_words WHERE term >= ?1 AND term < ?2`, prefix, prefix+"\U0010FFFF")
			if errors.Is(err, errEnough) {
				err = nil
			}
			return err
		},
		Has: func(expr string) (has bool, err error) {
			err = f.tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM video_text WHERE video_text MATCH ?1)`, expr).Scan(&has)
			return has, err
		},
	}
}

// ranking is in which order, from where on and how many matches are wanted.
type ranking struct {
	order  Order
	after  *position // nil from the first on
	except []int64   // videos.id
	limit  int
}

// arguments are those of a query.
type arguments []any

// add returns the name of one more.
func (a *arguments) add(value any) string {
	*a = append(*a, value)
	return fmt.Sprintf("?%d", len(*a))
}

// rank is the first of the matches that pass the filters, in the order.
func (f *finder) rank(ctx context.Context, of matches, r ranking) (found []candidate, err error) {
	args := arguments{of.of, f.after.Video, maxMatches}
	views, seen := f.column(&args, "views", "placements.views"), f.column(&args, "seen_at", "fetched_at")
	key := f.keys(&args, r.order, views, seen)
	where := f.filters(&args, views, seen)
	if r.after != nil {
		where += fmt.Sprintf("\n  AND (%s, -latest.id) < (%s, %s, %s, -%s)", strings.Join(key[:], ", "),
			args.add(r.after.Key[0]), args.add(r.after.Key[1]), args.add(r.after.Key[2]), args.add(r.after.ID))
	}
	if len(r.except) > 0 {
		where += "\n  AND matched.id NOT IN (SELECT CAST(value AS bigint) FROM json_each(" + args.add(listJSON(r.except)) + "))"
	}
	err = each(ctx, f.tx, func(rows *sql.Rows) error {
		var c candidate
		err := rows.Scan(&c.ID, &c.Key[0], &c.Key[1], &c.Key[2])
		found = append(found, c)
		return err
	}, fmt.Sprintf(rankMatches, of.query, strings.Join(key[:], ", "), where, args.add(r.limit)), args...)
	return found, err
}

const rankMatches = `
WITH matched AS (%s)
SELECT matched.id, %s
FROM matched CROSS JOIN video_latest AS latest ON latest.id = matched.id
WHERE true%s
ORDER BY 2 DESC, 3 DESC, 4 DESC, 1
LIMIT %s`

// column is a count or time of a video, on a later page as it was when the first was read: that of its newest
// placement then.
func (f *finder) column(args *arguments, now, then string) string {
	if f.q.After == "" {
		return "latest." + now
	}
	seen, slot := args.add(f.after.Seen), args.add(f.after.Slot)
	placed := "FROM placements JOIN slots ON slots.id = slot WHERE video = latest.id AND slot <= " + slot
	return fmt.Sprintf("iif(latest.seen_at <= %s OR NOT EXISTS (SELECT 1 %s), latest.%s, (SELECT %s %s ORDER BY slot DESC LIMIT 1))", seen, placed, now, then, placed)
}

// keys are what goes before what. What is not known comes last.
func (f *finder) keys(args *arguments, order Order, views, seen string) [3]string {
	// Popularity: an e-fold of views, or to have been seen 20 days later.
	popularity := "ln(1.0 + max(coalesce(" + views + ", 0), 0)) + " + seen + " / 1.728e9"
	switch order {
	case ByViews:
		return [3]string{"coalesce(" + views + ", -1)", popularity, "0"}
	case ByFreshness:
		return [3]string{seen, "coalesce((SELECT published_at FROM video_facts WHERE id = latest.id), 0)", popularity}
	case ByRise:
		return [3]string{fmt.Sprintf("coalesce("+risen+", %[3]g)", args.add(f.q.Region), args.add(f.after.Slot), notGained), popularity, "0"}
	default:
		return [3]string{popularity, "coalesce(" + views + ", 0)", "0"}
	}
}

// risen are the views that a video has gained between its last two counts in a chart of a region, ” for all: the
// most of any chart. Within a series slots with placements are numbered as they were due, so that up to the last that
// counts the greatest number is the last sighting.
const risen = `(
	SELECT max((
		SELECT views FROM placements
		WHERE video = latest.id AND series = series.id AND slot <= %[2]s AND views IS NOT NULL
		ORDER BY slot DESC LIMIT 1
	) - (
		SELECT views FROM placements
		WHERE video = latest.id AND series = series.id AND slot <= %[2]s AND views IS NOT NULL
		ORDER BY slot DESC LIMIT 1 OFFSET 1
	)) FROM series WHERE backfill IS NULL AND series.key <> '' AND latest.charted & (1 << series.id %% 63) <> 0 AND %[1]s IN ('', series.key))`

// filters writes the query's filters as conditions. That by region looks into the placements of those alone whose bits
// say that the region may have charted them.
func (f *finder) filters(args *arguments, views, seen string) string {
	var where strings.Builder
	and := func(set bool, condition string, arg any) {
		if set {
			fmt.Fprintf(&where, "\n  AND "+condition, args.add(arg))
		}
	}
	if q := f.q; q.Region != "" {
		const of = "FROM series WHERE backfill IS NULL AND key = %[2]s"
		fmt.Fprintf(&where, `
  AND latest.charted & (SELECT CAST(sum(DISTINCT 1 << id %% 63) AS bigint) `+of+`) <> 0
  AND EXISTS (SELECT 1 FROM placements WHERE video = matched.id AND slot <= %[1]s AND series IN (SELECT id `+of+`))`,
			args.add(f.after.Slot), args.add(q.Region))
	}
	const fact = "(SELECT %s FROM video_facts WHERE id = matched.id)"
	and(f.q.MinViews > 0, views+" >= %s", f.q.MinViews)
	and(!f.q.SeenSince.IsZero(), seen+" >= %s", ceilMillis(f.q.SeenSince))
	and(f.q.Category != "", fmt.Sprintf(fact, "category")+" = %s", f.q.Category)
	and(!f.q.PublishedSince.IsZero(), fmt.Sprintf(fact, "published_at")+" >= %s", ceilUnix(f.q.PublishedSince))
	and(!f.q.PublishedUntil.IsZero(), fmt.Sprintf(fact, "published_at")+" < %s", ceilUnix(f.q.PublishedUntil))
	return where.String()
}
