package store

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store/text"
)

// videoWriter writes videos, their channels and their index rows within one transaction. It ends with flush.
type videoWriter struct {
	tx  *txn
	at  int64 // when they were fetched, in milliseconds
	day int64 // of at, since 1970

	series      int64                   // that places them; 0: none
	known       map[string]knownVideo   // of those to write, by the upstream's id
	channels    map[string]knownChannel // of those to write, by the upstream's id; nil until one is needed
	newChannels []string                // the channels of new videos
	latest      [][]any                 // to write into video_latest
	moved       []int64                 // videos whose fetched_day is to become day
	texts       map[int64]indexed       // to write into the index, by video
	traits      map[int64]byte          // to write into video_blocks, by video
}

type knownVideo struct {
	id, text, facts, day int64
	trait                byte
}

// indexed is a video's text in the index.
type indexed struct{ title, channel, tags string }

const (
	findVideos = `
		SELECT video_id, video_facts.id, text_hash, facts_hash, fetched_day, views, category
		FROM json_each(?1) AS given CROSS JOIN video_facts ON video_id = given.value LEFT JOIN video_latest AS latest ON latest.id = video_facts.id`

	addFacts = `
		INSERT INTO video_facts (text_hash, facts_hash, fetched_day, channel, published_at, duration_s, live, category, language,
		                         thumbnail, title, tags, video_id)
		VALUES`
	addedFacts = ` RETURNING video_id, id`

	changeFacts = `
		UPDATE video_facts
		SET text_hash = ?1, facts_hash = ?2, fetched_day = ?3, channel = ?4, published_at = ?5, duration_s = ?6, live = ?7,
		    category = ?8, language = ?9, thumbnail = ?10, title = ?11, tags = ?12
		WHERE video_id = ?13`

	moveFacts = `UPDATE video_facts SET fetched_day = ?2 WHERE id IN (SELECT CAST(value AS bigint) FROM json_each(?1))`

	addLatest  = `INSERT INTO video_latest (id, fetched_at, seen_at, views, likes, comments) VALUES`
	elseLatest = `
		ON CONFLICT (id) DO UPDATE
		SET fetched_at = excluded.fetched_at, seen_at = max(video_latest.seen_at, excluded.seen_at), views = excluded.views,
		    likes = excluded.likes, comments = excluded.comments`

	indexVideos = `
		INSERT OR REPLACE INTO video_text (rowid, title, channel, tags)
		SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?1)`
)

// newVideoWriter looks up all the videos that are to be put at once.
func newVideoWriter(ctx context.Context, tx *txn, at time.Time, videos []ingest.Video) (*videoWriter, error) {
	w := &videoWriter{tx: tx, at: at.UnixMilli(), day: dayOf(at), known: map[string]knownVideo{}, texts: map[int64]indexed{}, traits: map[int64]byte{}}
	var ids []string
	for _, v := range videos {
		ids = append(ids, v.ID)
	}
	err := each(ctx, tx, func(rows *sql.Rows) error {
		var id string
		var k knownVideo
		var views *int64
		var category string
		err := rows.Scan(&id, &k.id, &k.text, &k.facts, &k.day, &views, &category)
		k.trait = traitOf(views, category)
		w.known[id] = k
		return err
	}, findVideos, listJSON(ids))
	for _, v := range videos {
		if _, known := w.known[v.ID]; !known {
			w.newChannels = append(w.newChannels, v.ChannelID)
		}
	}
	return w, err
}

// put writes the video as it is now and returns its ID. It writes the index only if the indexed text has changed. found
// says that this is a sighting: see schema.sql. A video that was only asked for again is not added if the store does
// not have it.
func (w *videoWriter) put(ctx context.Context, v ingest.Video, found bool) (int64, error) {
	if _, known := w.known[v.ID]; !known {
		if !found {
			return 0, nil
		}
		if _, err := w.channel(ctx, v); err != nil {
			return 0, err
		}
		if err := w.addFacts(ctx, []ingest.Video{v}); err != nil {
			return 0, err
		}
	}
	k, text := w.known[v.ID], textHash(v)
	if facts := factsHash(v, text); k.facts != facts {
		changed := k.text != text
		k.text, k.facts, k.day = text, facts, w.day
		if err := w.change(ctx, v, k); err != nil {
			return 0, err
		}
		if changed {
			w.index(k.id, v)
		}
	} else if k.day != w.day {
		k.day = w.day
		w.moved = append(w.moved, k.id)
	}
	if trait := traitOf(v.Views, v.Category); k.trait != trait {
		k.trait, w.traits[k.id] = trait, trait
	}
	w.known[v.ID] = k
	seen := int64(0)
	if found {
		seen = w.at
	}
	w.latest = append(w.latest, []any{k.id, w.at, seen, v.Views, v.Likes, v.Comments})
	return k.id, nil
}

// change writes the facts of a video that the store has.
func (w *videoWriter) change(ctx context.Context, v ingest.Video, k knownVideo) error {
	channel, err := w.channel(ctx, v)
	if err == nil {
		_, err = w.tx.ExecContext(ctx, changeFacts, factsRow(v, k, channel)...)
	}
	return err
}

// factsRow returns the arguments of addFacts and changeFacts.
func factsRow(v ingest.Video, k knownVideo, channel sql.NullInt64) []any {
	published := sql.NullInt64{Int64: v.PublishedAt.Unix(), Valid: !v.PublishedAt.IsZero()}
	return []any{k.text, k.facts, k.day, channel, published, int64(v.Duration / time.Second), v.Live,
		v.Category, v.Language, v.Thumbnail, v.Title, listJSON(v.Tags), v.ID}
}

// index queues the video's text for the index.
func (w *videoWriter) index(id int64, v ingest.Video) {
	w.texts[id] = indexed{text.Normalize(v.Title), text.Normalize(v.Channel), text.Normalize(strings.Join(v.Tags, "\n"))}
}

// flush writes the rows that put and index have queued. It must come before any deletion in the transaction. The index is
// changed by one statement, since FTS5 writes a segment for each.
func (w *videoWriter) flush(ctx context.Context) error {
	if err := w.count(ctx); err != nil {
		return err
	}
	rows := make([][4]any, 0, len(w.texts))
	for _, id := range slices.Sorted(maps.Keys(w.texts)) {
		t := w.texts[id]
		rows = append(rows, [4]any{id, t.title, t.channel, t.tags})
	}
	clear(w.texts)
	return execJSON(ctx, w.tx, indexVideos, rows)
}

// count writes the counts of every sighting. Before it, the view videos lacks new videos.
func (w *videoWriter) count(ctx context.Context) error {
	err := insertRows(ctx, w.tx, addLatest, elseLatest, w.latest)
	if err == nil && w.series != 0 {
		var ids []int64
		for _, row := range w.latest {
			ids = append(ids, row[0].(int64))
		}
		err = addCharted(ctx, w.tx, w.series, ids)
	}
	if err == nil {
		err = writeTraits(ctx, w.tx, w.traits)
	}
	if err == nil {
		err = execJSON(ctx, w.tx, moveFacts, w.moved, w.day)
	}
	w.latest, w.moved = nil, nil
	clear(w.traits)
	return err
}

// repairStep is how many rows of the index one transaction writes, so that other writers wait only milliseconds.
const repairStep = 200

// rewriteIndex writes the videos' rows of the index, and the hash of their present text.
func rewriteIndex(ctx context.Context, tx *txn, ids []int64) error {
	videos, err := newVideoWriter(ctx, tx, time.Time{}, nil)
	if err != nil {
		return err
	}
	for _, id := range ids {
		v, err := scanVideo(tx.QueryRowContext(ctx,
			`SELECT `+videoColumns+` FROM videos LEFT JOIN channels ON channels.id = videos.channel WHERE videos.id = ?`, id))
		if err != nil {
			return err
		}
		// A channel's name without a channel is known only through the hash, which must stay.
		if _, err := tx.ExecContext(ctx, `UPDATE video_facts SET text_hash = ? WHERE id = ? AND channel IS NOT NULL`, textHash(v), id); err != nil {
			return err
		}
		videos.index(id, v)
	}
	return videos.flush(ctx)
}

// dayOf returns the day of a fetch, counted from 1970, as in fetched_day.
func dayOf(at time.Time) int64 { return at.UnixMilli() / (24 * time.Hour).Milliseconds() }

// add writes the facts of those videos that are new, in few statements: to a store in Postgres each is a round trip.
// Every one of the videos must then be put. It leaves to put those whose channel has another name in the store or in
// another of the videos, since that reindexes the channel's videos as they are when it is met.
func (w *videoWriter) add(ctx context.Context, videos []ingest.Video) error {
	names, several := map[string]string{}, map[string]bool{}
	for _, v := range videos {
		if name, ok := names[v.ChannelID]; ok && name != v.Channel && v.ChannelID != "" {
			several[v.ChannelID] = true
		}
		names[v.ChannelID] = v.Channel
	}
	var fresh []ingest.Video
	var channels [][]any
	asked := map[string]bool{"": true}
	for _, v := range videos {
		if _, known := w.known[v.ID]; known || asked[v.ID] || several[v.ChannelID] {
			continue
		}
		if v.ChannelID != "" {
			switch k, ok, err := w.findChannel(ctx, v.ChannelID); {
			case err != nil:
				return err
			case ok && k.title != v.Channel:
				continue
			case !ok && !asked["channel "+v.ChannelID]:
				asked["channel "+v.ChannelID] = true
				channels = append(channels, []any{v.ChannelID, v.Channel})
			}
		}
		asked[v.ID] = true
		fresh = append(fresh, v)
	}
	if err := w.addChannels(ctx, channels); err != nil {
		return err
	}
	return w.addFacts(ctx, fresh)
}

// addFacts writes the facts of new videos, whose channels the writer knows, and queues their index rows.
func (w *videoWriter) addFacts(ctx context.Context, fresh []ingest.Video) error {
	var rows [][]any
	for _, v := range fresh {
		text := textHash(v)
		k := knownVideo{text: text, facts: factsHash(v, text), day: w.day, trait: traitOf(v.Views, v.Category)}
		rows = append(rows, factsRow(v, k, sql.NullInt64{Int64: w.channels[v.ChannelID].id, Valid: v.ChannelID != ""}))
		w.known[v.ID] = k
	}
	err := returnRows(ctx, w.tx, addFacts, addedFacts, rows, func(row *sql.Rows) error {
		var id string
		var number int64
		err := row.Scan(&id, &number)
		k := w.known[id]
		k.id, w.traits[number] = number, k.trait
		w.known[id] = k
		return err
	})
	for _, v := range fresh {
		w.index(w.known[v.ID].id, v)
	}
	return err
}
