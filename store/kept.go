package store

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store/text"
)

// kept holds the videos that a connection has read for searches. It lasts until any process writes to the store: a
// later search reads only other videos, and cuts no title into words twice.
type kept struct {
	version     int64 // of the data, as the connection counts it
	video, slot int64 // the newest videos.id and slots.id

	videos     map[int64]keptVideo
	charted    map[ingest.Region]map[int64]bool // whether the region's charts have a video
	hits       map[int64]keptHit
	charts     map[ingest.Region]regionCharts // "": of all regions
	traits     blocks                         // of all videos
	newestSeen int64                          // no video was seen later, in milliseconds; set with traits
	has        map[string]bool                // answers of index.has, by its arguments
	words      map[string]bool                // whether the index may have the word
	categories map[string]string              // the names, by id; nil: not read
}

// keptVideos bounds how many videos and how many hits a connection keeps, and keptRegions of how many regions: at most
// some 15 MB. A variable, so that a test can make it apply to a small store.
var keptVideos = 8192

const keptRegions = 16

// keptVideo has the values of a video that place it in a result.
type keptVideo struct {
	popularity, views float64
	text              text.Document
	folded            string // the title's tokens
}

// keptHit is a Hit without the values that depend on the search.
type keptHit struct {
	Hit
	title text.Located
}

// viewKept is view with the connection's kept values, unless the store has changed. An engine keeps nothing. In SQLite
// an f that has begun is not cancelled, and runs without goroutines: they would take a quarter of a search's time.
func (d *database) viewKept(ctx context.Context, doing string, f func(context.Context, querier, *kept) error) error {
	conn, err := d.read.Conn(ctx)
	if err != nil {
		return d.explain(ctx, doing, err)
	}
	defer func() { _ = conn.Close() }()
	k := &kept{}
	if err = conn.Raw(func(c any) error {
		if own, ok := c.(interface{ keeps() *any }); ok {
			if earlier, ok := (*own.keeps()).(*kept); ok {
				k = earlier
			}
			*own.keeps() = k
		}
		return nil
	}); err != nil {
		return d.explain(ctx, doing, err)
	}
	var tx querier = conn
	if d.engine == nil {
		ctx = context.WithoutCancel(ctx) // a goroutine that watches for its end takes longer than most statements
		_, err = conn.ExecContext(ctx, `BEGIN`)
		defer func() { _, _ = conn.ExecContext(ctx, `ROLLBACK`) }()
	} else if snapshot, failed := conn.BeginTx(ctx, nil); failed != nil {
		err = failed
	} else {
		defer func() { _ = snapshot.Rollback() }()
		tx = snapshot
	}
	if err == nil {
		err = d.renew(ctx, tx, k)
	}
	if err == nil {
		err = f(ctx, tx, k)
	}
	return d.explain(ctx, doing, err)
}

// renew empties k if another connection has written since its values were read.
func (d *database) renew(ctx context.Context, tx querier, k *kept) error {
	var version int64
	if d.engine == nil {
		if err := tx.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version); err != nil {
			return err
		}
	}
	if k.videos != nil && k.version == version {
		return nil
	}
	*k = kept{
		videos: map[int64]keptVideo{}, charted: map[ingest.Region]map[int64]bool{},
		hits: map[int64]keptHit{}, charts: map[ingest.Region]regionCharts{}, has: map[string]bool{}, words: map[string]bool{},
	}
	err := tx.QueryRowContext(ctx,
		`SELECT (SELECT coalesce(max(id), 0) FROM video_facts), (SELECT coalesce(max(id), 0) FROM slots)`).
		Scan(&k.video, &k.slot)
	if err == nil {
		k.version = version
	}
	return err
}

// unread returns the ids that are not in the map, whose size most bounds. If there is no room for them, it empties the
// map.
func unread[K comparable, V any](from map[K]V, most int, ids []K) []K {
	missing := slices.DeleteFunc(slices.Clone(ids), func(id K) bool { _, has := from[id]; return has })
	if len(from)+len(missing) > most {
		clear(from)
		return ids
	}
	return missing
}

// known reads the videos that are not kept. So few that a page has room for all are read as hits: most are shown.
func (x *index) known(ctx context.Context, videos []int64) error {
	missing := unread(x.kept.videos, keptVideos, videos)
	if len(missing) <= DefaultLimit {
		unread(x.kept.hits, keptVideos, missing) // makes room
		return x.readHits(ctx, missing)
	}
	channels := map[string][]string{}
	return each(ctx, x.tx, func(rows *sql.Rows) error {
		var id int64
		var v keptVideo
		var title, channel string
		if err := rows.Scan(&id, &v.popularity, &v.views, &title, &channel); err != nil {
			return err
		}
		if _, cut := channels[channel]; !cut {
			channels[channel] = text.Tokens(channel)
		}
		v.setText(text.NewDocument(title, text.Tokens(title), channels[channel]))
		x.kept.videos[id] = v
		return nil
	}, `
		SELECT latest.id, `+popularity("views", "seen_at")+`, coalesce(views, 0), facts.title, coalesce(channels.title, '')
		FROM json_each(?1) AS given CROSS JOIN video_latest AS latest ON latest.id = CAST(given.value AS bigint)
		CROSS JOIN video_facts AS facts ON facts.id = latest.id LEFT JOIN channels ON channels.id = channel`,
		listJSON(missing))
}

func (v *keptVideo) setText(d text.Document) { v.text, v.folded = d, strings.Join(d.TitleTokens, " ") }

// chartedIn returns which of the videos the charts of the query's region have, and maybe others. The CASE makes
// Postgres check video by video.
func (x *index) chartedIn(ctx context.Context, videos []int64) (map[int64]bool, error) {
	charted := x.kept.charted[x.q.Region]
	if charted == nil {
		if len(x.kept.charted) >= keptRegions {
			clear(x.kept.charted)
		}
		charted = map[int64]bool{}
		x.kept.charted[x.q.Region] = charted
	}
	missing := unread(charted, keptVideos, videos)
	if len(missing) == 0 {
		return charted, nil
	}
	in, err := numbersOf(x.tx.QueryRowContext(ctx, `
		SELECT group_concat(CAST(value AS text), ' ') FROM json_each(?1)
		WHERE CASE WHEN EXISTS (
			SELECT 1 FROM placements
			WHERE video = CAST(value AS bigint) AND series IN (SELECT id FROM series WHERE backfill IS NULL AND key = ?2)
		) THEN 1 ELSE 0 END = 1`, listJSON(missing), x.q.Region))
	if err != nil {
		return nil, err
	}
	for _, id := range missing {
		charted[id] = false
	}
	for _, id := range in {
		charted[id] = true
	}
	return charted, nil
}

// readHits reads the data shown of the videos in ?1, a JSON array of ids. The last column has all numbers and names of
// the upstream, and which regions' charts hold the video: to cut a text takes a third of the time of as many columns.
var readHits = `
SELECT videos.id, ` + popularity("videos.views", "seen_at") + `, videos.title, coalesce(channels.title, ''), tags,
	format('%s` + strings.Repeat(separator+"%s", 12) + `', video_id, channel_id, category, language, thumbnail,
		published_at, duration_s, live, videos.views, videos.likes, videos.comments, seen_at, (
			SELECT group_concat(key, ' ') FROM series
			WHERE backfill IS NULL AND key <> ''
			  AND EXISTS (SELECT 1 FROM placements WHERE video = videos.id AND series = series.id)
		))
FROM json_each(?1) AS given CROSS JOIN videos ON videos.id = CAST(given.value AS bigint)
LEFT JOIN channels ON channels.id = videos.channel`

// readHits reads videos whole, and keeps them.
func (x *index) readHits(ctx context.Context, videos []int64) error {
	if len(videos) == 0 {
		return nil
	}
	return each(ctx, x.tx, func(rows *sql.Rows) error {
		var id int64
		var popularity float64
		var h keptHit
		var tags, others string
		err := rows.Scan(&id, &popularity, &h.Video.Title, &h.Video.Channel, &tags, &others)
		h.Video.Tags = readTags(tags)
		h.setOthers(others)
		h.title = text.Locate(h.Video.Title)
		x.kept.hits[id] = h
		if _, known := x.kept.videos[id]; !known {
			v := keptVideo{popularity: popularity}
			if h.Video.Views != nil {
				v.views = float64(*h.Video.Views)
			}
			v.setText(text.NewDocument(h.Video.Title, h.title.Tokens(), text.Tokens(h.Video.Channel)))
			x.kept.videos[id] = v
		}
		return err
	}, readHits, listJSON(videos))
}

// setOthers sets the values of the last column of readHits.
func (h *Hit) setOthers(values string) {
	next := func() (value string) {
		value, values, _ = strings.Cut(values, separator)
		return value
	}
	number := func() *int64 {
		if n, err := strconv.ParseInt(next(), 10, 64); err == nil {
			return &n
		}
		return nil
	}
	v := &h.Video
	for _, name := range []*string{&v.ID, &v.ChannelID, &v.Category, &v.Language, &v.Thumbnail} {
		*name = next()
	}
	if at := number(); at != nil {
		v.PublishedAt = time.Unix(*at, 0).UTC()
	}
	if seconds := number(); seconds != nil {
		v.Duration = time.Duration(*seconds) * time.Second
	}
	v.Live = strings.ContainsAny(next(), "1t")
	v.Views, v.Likes, v.Comments = number(), number(), number()
	if seen := number(); seen != nil {
		h.SeenAt = time.UnixMilli(*seen).UTC()
	}
	for key := range strings.FieldsSeq(values) {
		h.Regions = append(h.Regions, ingest.Region(key))
	}
	slices.Sort(h.Regions)
	h.Regions = slices.Compact(h.Regions)
}

// hits returns the page's videos with their rows.
func (x *index) hits(ctx context.Context, query text.Query, candidates []candidate) ([]Hit, error) {
	if err := x.readHits(ctx, unread(x.kept.hits, keptVideos, idsOf(candidates))); err != nil {
		return nil, err
	}
	hits := make([]Hit, len(candidates))
	for i, c := range candidates {
		kept := x.kept.hits[c.ID]
		h := kept.Hit
		h.Video.Tags, h.Regions = slices.Clone(h.Video.Tags), slices.Clone(h.Regions)
		h.Score, h.Highlight = c.score, query.Highlight(kept.title)
		if gained := c.Key[0]; x.q.Order == ByRise && gained > notGained {
			h.Gained = new(int64)
			*h.Gained = int64(gained)
		}
		hits[i] = h
	}
	return hits, nil
}

func idsOf(candidates []candidate) []int64 {
	ids := make([]int64, len(candidates))
	for i, c := range candidates {
		ids[i] = c.ID
	}
	return ids
}

// regionCharts returns the charts of a region, or of all.
func (x *index) regionCharts(ctx context.Context, region ingest.Region) (_ regionCharts, err error) {
	charts, known := x.kept.charts[region]
	if !known {
		if len(x.kept.charts) >= keptRegions {
			clear(x.kept.charts)
		}
		if charts, err = readRegionCharts(ctx, x.tx, region); err == nil {
			x.kept.charts[region] = charts
		}
	}
	return charts, err
}

func (x *index) readTraits(ctx context.Context) (err error) {
	if x.kept.traits != nil {
		return nil
	}
	// No video was seen later than fetched: see schema.sql.
	err = x.tx.QueryRowContext(ctx, `SELECT coalesce(max(fetched_day) + 1, 0) * 86400000 FROM video_facts`).
		Scan(&x.kept.newestSeen)
	if err == nil {
		x.kept.traits, err = readTraits(ctx, x.tx)
	}
	return err
}
