package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store/text"
)

// Result is one page of a search's hits.
type Result struct {
	Items []Hit
	// Next is SearchQuery.After of the next page; "" when this is the last.
	Next string
	// Capped says that more than maxMatches videos match, of which only the newest are considered.
	Capped bool
	// Looked describes the search after parsing and forgiving; "" if there was no search.
	Looked string
	// Forgiven says that the query found little as typed, and that Looked describes another one.
	Forgiven bool
	// FreshAt is when the schedule last brought stored data; zero: never.
	FreshAt time.Time
	// Counts is set if the query asks for it and something was searched for.
	Counts *Counts
	// Categories holds the upstream's names for its categories, by ID, of any region.
	Categories map[string]string
	// Hint is why there was no search, otherwise "": a query without any word finds nothing.
	Hint string
}

// Hit is a video that was found.
type Hit struct {
	Video     ingest.Video
	Regions   []ingest.Region // with the video in a stored chart, in alphabetical order
	Score     float64         // higher is better; comparable within one result only
	SeenAt    time.Time       // when it was last found: see schema.sql
	Gained    *int64          // with ByRise: the views gained; nil if no chart has two counts of it
	Highlight []text.Span     // the parts of the title that match
}

// Search finds videos by titles, channels and tags, or one video by its id or URL. Every text is a valid query; the
// only error of input is ErrCursor.
//
// The work is bounded: of the newest maxMatches, the most watched are scored by their text, and the others follow.
func (s *Store) Search(ctx context.Context, q SearchQuery) (Result, error) {
	q.Text = q.Text[:min(len(q.Text), text.MaxBytes)]
	query := text.Parse(q.Text)
	if len(query) == 0 {
		return Result{Hint: "the query has no word to search for"}, nil
	}
	after, err := q.start(s.now())
	if err != nil {
		return Result{}, err
	}
	if q.Limit <= 0 {
		q.Limit = DefaultLimit
	}
	var r Result
	err = s.view(ctx, "search", func(tx *txn) error {
		f := finder{q: q, query: query, tx: tx, after: after, walked: map[string]matches{}, newest: s.engine != nil, words: lexicon{tx, s.engine != nil}}
		if err := f.pin(ctx); err != nil {
			return err
		}
		found, err := f.find(ctx)
		if err != nil {
			return err
		}
		r.Capped, r.Looked, r.Forgiven = f.among.capped, f.looked, f.forgiven
		if err := tx.QueryRowContext(ctx, freshAt, future(s.now())).Scan(inMillis(&r.FreshAt)); err != nil {
			return err
		}
		if len(found) > q.Limit {
			found = found[:q.Limit]
			f.after.Last = found[q.Limit-1].position
			r.Next = f.after.text()
		}
		if q.Tally {
			if r.Counts, err = f.tally(ctx); err != nil {
				return err
			}
			if r.Counts.AtLeast {
				r.Counts.atLeast(len(found), q)
			}
		}
		if r.Categories, err = categoryNames(ctx, tx); err != nil {
			return err
		}
		r.Items, err = f.hits(ctx, found)
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("search for %q: %w", q.Text, err)
	}
	return r, nil
}

// freshAt returns when a slot was last done that is not in the future, which ends at ?1. Of a series that a clock that
// was ahead made fresh, it reads the newest slots.
const freshAt = `
SELECT max(CASE WHEN fresh_at <= ?1 * 1000 THEN fresh_at ELSE (
	SELECT fetched_at FROM slots WHERE series = series.id AND state = 'done' AND due_at <= ?1 ORDER BY due_at DESC LIMIT 1
) END) FROM series WHERE backfill IS NULL`

// finder is one search within one transaction.
type finder struct {
	q           SearchQuery
	query       text.Query         // of q.Text, as far as it was forgiven
	among       matches            // what the query finds
	onlyInNames bool               // among holds only those with the words in title or channel, which are enough
	wait        bool               // the query is one word, which was searched in names first
	tagged      []int64            // the matches with it in their tags alone, if these are left to scoreAndSort
	walked      map[string]matches // what the index found, by expression
	newest      bool               // walk from the newest on: an expression matched too many, or the engine sorts its results
	words       lexicon
	charts      regionCharts // of the query's region, or of all; nil until they are needed
	traits      blocks       // of all videos; nil until they are needed
	newestSeen  int64        // no video was seen later, in milliseconds; set with traits
	looked      string       // see Result
	forgiven    bool
	byOne       bool // among is the video that the query names
	butOneWord  bool // among lacks one of the words
	tx          *txn
	after       cursor
}

// pin limits the search to the videos and slots that exist at its first page. Later pages keep that.
func (f *finder) pin(ctx context.Context) error {
	if f.q.After != "" {
		return nil
	}
	return f.tx.QueryRowContext(ctx, `SELECT (SELECT coalesce(max(id), 0) FROM video_facts), (SELECT coalesce(max(id), 0) FROM slots)`).
		Scan(&f.after.Video, &f.after.Slot)
}

// candidate is a matching video with its place in the result.
type candidate struct {
	position

	title      []string // its tokens
	score      float64  // by its text; after sortByScore also by its views
	titleShare float64  // the share of the query in its title
}

// find returns the page's candidates and, if there is a next page, the first of that.
func (f *finder) find(ctx context.Context) ([]candidate, error) {
	paged := ranking{order: f.q.Order, limit: f.q.Limit + 1}
	if f.q.After != "" {
		paged.after = &f.after.Last
	}
	if f.q.Order != ByRelevance {
		found, err := f.widen(ctx, paged)
		if err != nil {
			return nil, err
		}
		return found, f.score(ctx, found)
	}
	candidates, err := f.widen(ctx, ranking{limit: maxScored})
	if err != nil {
		return nil, err
	}
	if candidates, err = f.scoreAndSort(ctx, candidates); err != nil {
		return nil, err
	}
	var scored []int64
	for _, c := range candidates {
		scored = append(scored, c.ID)
	}
	if f.q.After != "" {
		candidates = slices.DeleteFunc(candidates, func(c candidate) bool { return c.compare(f.after.Last) <= 0 })
	}
	// If not all matches were scored, the others follow by popularity.
	if paged.limit -= len(candidates); paged.limit <= 0 || len(scored) < maxScored {
		return candidates, nil
	}
	if f.onlyInNames {
		if f.among, err = f.match(ctx, f.query.Match(false), maxMatches); err != nil {
			return nil, err
		}
	}
	if paged.after != nil {
		if paged.after = nil; f.after.Last.Key[0] == 0 {
			paged.after = &position{[3]float64{f.after.Last.Key[1], f.after.Last.Key[2]}, f.after.Last.ID}
		}
	}
	newestFirst(scored)
	rest, err := f.rank(ctx, f.among.without(scored), paged)
	for i := range rest {
		k := &rest[i].Key
		k[0], k[1], k[2] = 0, k[0], k[1]
	}
	return append(candidates, rest...), err
}

// score reads the candidates' texts and scores them.
func (f *finder) score(ctx context.Context, candidates []candidate) error {
	at, channels := map[int64]int{}, map[string][]string{}
	for i, c := range candidates {
		at[c.ID] = i
	}
	return each(ctx, f.tx, func(rows *sql.Rows) error {
		var id int64
		var title, channel string
		if err := rows.Scan(&id, &title, &channel); err != nil {
			return err
		}
		if _, known := channels[channel]; !known {
			channels[channel] = text.Tokens(channel)
		}
		c := &candidates[at[id]]
		c.title = text.Tokens(title)
		c.score, c.titleShare = f.query.Score(text.Document{Title: title, TitleTokens: c.title, Channel: channels[channel]})
		return nil
	}, `
		SELECT facts.id, facts.title, coalesce(channels.title, '')
		FROM json_each(?1) AS given CROSS JOIN video_facts AS facts ON facts.id = CAST(given.value AS bigint) LEFT JOIN channels ON channels.id = channel`, idsOf(candidates))
}

// inTitleCount counts the candidates whose titles match the query.
func inTitleCount(candidates []candidate) (n int) {
	for _, c := range candidates {
		if c.titleShare > 0.85 {
			n++
		}
	}
	return n
}

// wholeWord is more than any score by text and views.
const wholeWord = 1000

// manyInTitle is how many matching titles give views their full weight.
const manyInTitle = 300

// scoreAndSort scores and sorts the candidates, and adds those of f.tagged unless none of them can be on the first
// page. All of these score as an empty text does, and of their views the traits give a bound. Where that scores less
// than the page's last, a title of theirs lowers none of the page: see sortByScore.
func (f *finder) scoreAndSort(ctx context.Context, candidates []candidate) ([]candidate, error) {
	if err := f.score(ctx, candidates); err != nil {
		return nil, err
	}
	if len(f.tagged) == 0 {
		sortByScore(candidates, f.query.IsWord())
		return candidates, nil
	}
	sorted := slices.Clone(candidates)
	watched := sortByScore(sorted, f.query.IsWord())
	if len(sorted) > f.q.Limit {
		if err := f.readTraits(ctx); err != nil {
			return nil, err
		}
		level := byte(0)
		for _, id := range f.tagged {
			level = max(level, f.traits.trait(id)>>4)
		}
		inTags, _ := f.query.Score(text.Document{})
		if level < maxLevel && inTags*watched(viewsAt(level+1)) < sorted[f.q.Limit].score {
			return sorted, nil
		}
	}
	tagged, err := f.rank(ctx, f.tagged, ranking{limit: maxScored})
	if err == nil {
		err = f.score(ctx, tagged)
	}
	candidates = append(candidates, tagged...)
	sortByScore(candidates, f.query.IsWord())
	return candidates, err
}

// sortByScore weighs the views of scored candidates and sorts them. The more titles match, the more views weigh: with
// two matches the title decides, with two hundred the audience does. Repeated titles rank lower, the third far lower,
// so that they do not fill the first page. Where the query is one word, titles with it come before titles in which a
// longer word begins with it: C++ before Cats. It returns what views multiply a score by.
func sortByScore(candidates []candidate, oneWord bool) (watched func(views float64) float64) {
	weight := 0.5 + 8*math.Pow(min(math.Log(float64(max(inTitleCount(candidates), 1)))/math.Log(manyInTitle), 1), 3)
	watched = func(views float64) float64 { return math.Pow(0.4+math.Log10(1+max(views, 0))/8, weight) }
	for i := range candidates {
		c := &candidates[i]
		c.score *= watched(c.Key[1])
		c.Key = [3]float64{1, c.score, c.Key[0]}
	}
	byPosition(candidates)
	met := map[string]float64{}
	for i := range candidates {
		c := &candidates[i]
		title := strings.Join(c.title, " ")
		met[title]++
		c.score /= met[title] * met[title] * met[title]
		if oneWord && c.titleShare == 1 && met[title] < 3 {
			c.score += wholeWord
		}
		c.Key[1] = c.score
	}
	byPosition(candidates)
	return watched
}

func byPosition(candidates []candidate) {
	slices.SortFunc(candidates, func(a, b candidate) int { return a.compare(b.position) })
}

func idsOf(candidates []candidate) asJSON {
	ids := make([]int64, len(candidates))
	for i, c := range candidates {
		ids[i] = c.ID
	}
	return asJSON{ids}
}

// readHits reads the data shown of the videos in ?1, a JSON array of ids, and which regions' charts hold each.
const readHits = `
SELECT ` + videoColumns + `, given.key, videos.seen_at, (
	SELECT group_concat(key, ' ') FROM (
		SELECT DISTINCT key FROM series
		WHERE backfill IS NULL AND key <> '' AND EXISTS (SELECT 1 FROM placements WHERE video = videos.id AND series = series.id)
		ORDER BY key
	) AS keys
)
FROM json_each(?1) AS given CROSS JOIN videos ON videos.id = CAST(given.value AS bigint) LEFT JOIN channels ON channels.id = videos.channel`

// hits reads the rows of the page's videos.
func (f *finder) hits(ctx context.Context, candidates []candidate) ([]Hit, error) {
	hits := make([]Hit, len(candidates))
	return hits, each(ctx, f.tx, func(rows *sql.Rows) error {
		var at int
		var seen time.Time
		var regions sql.NullString
		v, err := scanVideo(rows, &at, inMillis(&seen), &regions)
		if err != nil {
			return err
		}
		hits[at] = Hit{Video: v, Score: candidates[at].score, SeenAt: seen, Highlight: f.query.Highlight(v.Title)}
		if gained := candidates[at].Key[0]; f.q.Order == ByRise && gained > notGained {
			hits[at].Gained = new(int64)
			*hits[at].Gained = int64(gained)
		}
		for key := range strings.FieldsSeq(regions.String) {
			hits[at].Regions = append(hits[at].Regions, ingest.Region(key))
		}
		return nil
	}, readHits, idsOf(candidates))
}
