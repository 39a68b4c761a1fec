package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/trendvidstream/ingest"
)

// shelf writes videos, their channels and their index rows within one transaction. Who has put the last of
// them calls flush.
type shelf struct {
	tx  *txn
	at  int64 // when they were fetched, in milliseconds
	day int64 // of at, since 1970

	known    map[string]knownVideo   // of those to write, by the upstream's id
	channels map[string]knownChannel // of those to write, by the upstream's id; nil until one is asked for
	named    []string                // the ids to look for then
	latest   [][]any                 // to write into video_latest
	moved    []int64                 // whose fetched_day is to become day
	texts    map[int64]indexed       // to write into the index, by video
}

type knownVideo struct{ id, text, facts, day int64 }

type knownChannel struct {
	id    int64
	title string
}

// indexed is what the index holds of a video.
type indexed struct{ title, channel, tags string }

const (
	findVideos = `SELECT video_id, video_facts.id, text_hash, facts_hash, fetched_day FROM json_each(?1) AS given CROSS JOIN video_facts ON video_id = given.value`

	addFacts = `
		INSERT INTO video_facts (text_hash, facts_hash, fetched_day, channel, published_at, duration_s, live, category, language,
		                         thumbnail, title, tags, video_id)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`

	changeFacts = `
		UPDATE video_facts
		SET text_hash = ?1, facts_hash = ?2, fetched_day = ?3, channel = ?4, published_at = ?5, duration_s = ?6, live = ?7,
		    category = ?8, language = ?9, thumbnail = ?10, title = ?11, tags = ?12
		WHERE video_id = ?13`

	moveFacts = `UPDATE video_facts SET fetched_day = ?2 WHERE id IN (SELECT value FROM json_each(?1))`

	addLatest  = `INSERT INTO video_latest (id, fetched_at, seen_at, views, likes, comments) VALUES`
	elseLatest = `
		ON CONFLICT (id) DO UPDATE
		SET fetched_at = excluded.fetched_at, seen_at = max(seen_at, excluded.seen_at), views = excluded.views,
		    likes = excluded.likes, comments = excluded.comments`

	indexVideos = `
		INSERT OR REPLACE INTO video_text (rowid, title, channel, tags)
		SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?1)`

	findChannels = `SELECT channel_id, channels.id, title FROM json_each(?1) CROSS JOIN channels ON channel_id = value`
	addChannel   = `INSERT INTO channels (channel_id, title) VALUES (?, ?)`
)

// newShelf finds what is known of the videos that are to be put, all of them at once.
func newShelf(ctx context.Context, tx *txn, at time.Time, videos []ingest.Video) (*shelf, error) {
	s := &shelf{tx: tx, at: at.UnixMilli(), day: dayOf(at), known: map[string]knownVideo{}, texts: map[int64]indexed{}}
	var ids []string
	for _, v := range videos {
		ids, s.named = append(ids, v.ID), append(s.named, v.ChannelID)
	}
	return s, lookIn(ctx, tx, findVideos, ids, func(rows *sql.Rows) error {
		var id string
		var k knownVideo
		err := rows.Scan(&id, &k.id, &k.text, &k.facts, &k.day)
		s.known[id] = k
		return err
	})
}

// findChannels finds what is known of the channels, all of them at once: of a page of re-sightings none is
// asked for.
func (s *shelf) findChannels(ctx context.Context) error {
	if s.channels != nil {
		return nil
	}
	s.channels = map[string]knownChannel{}
	return lookIn(ctx, s.tx, findChannels, s.named, func(rows *sql.Rows) error {
		var id string
		var k knownChannel
		err := rows.Scan(&id, &k.id, &k.title)
		s.channels[id] = k
		return err
	})
}

// lookIn runs a query over a list of the upstream's ids, ?1. A list in JSON holds no id that is no text:
// such a one is looked up by itself, quoted as SQL's own text.
func lookIn(ctx context.Context, tx *txn, query string, ids []string, f func(*sql.Rows) error) error {
	var plain []string
	for _, id := range ids {
		if utf8.ValidString(id) && !strings.Contains(id, "\x00") {
			plain = append(plain, id)
			continue
		}
		if err := each(ctx, tx, f, strings.Replace(query, "json_each(?1)", "(SELECT ?1 AS value)", 1), id); err != nil {
			return err
		}
	}
	if len(plain) == 0 {
		return nil
	}
	list, err := json.Marshal(plain)
	if err != nil {
		return err
	}
	return each(ctx, tx, f, query, string(list))
}

// put writes the video as it is now and returns its id. The index is written only when the text that
// it holds has changed. charted says that it was found in a chart; one that was only looked up is not
// added when the store does not have it.
func (s *shelf) put(ctx context.Context, v ingest.Video, charted bool) (int64, error) {
	k, known := s.known[v.ID]
	if !known && !charted {
		return 0, nil
	}
	text := textHash(v)
	if facts := factsHash(v, text); !known || k.facts != facts {
		changed := !known || k.text != text
		k.text, k.facts, k.day = text, facts, s.day
		id, err := s.write(ctx, v, k)
		if err != nil {
			return 0, err
		}
		k.id = id
		if changed {
			s.index(id, v)
		}
	} else if k.day != s.day {
		k.day = s.day
		s.moved = append(s.moved, k.id)
	}
	s.known[v.ID] = k
	seen := int64(0)
	if charted {
		seen = s.at
	}
	s.latest = append(s.latest, []any{k.id, s.at, seen, v.Views, v.Likes, v.Comments})
	return k.id, nil
}

// write writes the video's facts, which are new, or others than before. id 0 is one that is not there yet.
func (s *shelf) write(ctx context.Context, v ingest.Video, k knownVideo) (int64, error) {
	channel, err := s.channel(ctx, v)
	if err != nil {
		return 0, err
	}
	tags, err := json.Marshal(v.Tags)
	if err != nil {
		return 0, err
	}
	if v.Tags == nil {
		tags = []byte("[]")
	}
	published := sql.NullInt64{Int64: v.PublishedAt.Unix(), Valid: !v.PublishedAt.IsZero()}
	row := []any{k.text, k.facts, k.day, channel, published, int64(v.Duration / time.Second), v.Live,
		v.Category, v.Language, v.Thumbnail, v.Title, string(tags), v.ID}
	if k.id != 0 {
		_, err := s.tx.ExecContext(ctx, changeFacts, row...)
		return k.id, err
	}
	res, err := s.tx.ExecContext(ctx, addFacts, row...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// index notes what the index is to hold of the video.
func (s *shelf) index(id int64, v ingest.Video) {
	s.texts[id] = indexed{Normalize(v.Title), Normalize(v.Channel), Normalize(strings.Join(v.Tags, "\n"))}
}

// flush writes what put and index have noted, before anything is deleted in the transaction. The index gets
// one statement: FTS5 writes a segment for each that changes it.
func (s *shelf) flush(ctx context.Context) error {
	if err := s.count(ctx); err != nil {
		return err
	}
	rows := make([][4]any, 0, len(s.texts))
	for _, id := range slices.Sorted(maps.Keys(s.texts)) {
		t := s.texts[id]
		rows = append(rows, [4]any{id, t.title, t.channel, t.tags})
	}
	clear(s.texts)
	return execJSON(ctx, s.tx, indexVideos, rows)
}

// count writes what every sighting changes. Until then the view has no video that is new.
func (s *shelf) count(ctx context.Context) error {
	err := insertRows(ctx, s.tx, addLatest, elseLatest, s.latest)
	if err == nil {
		err = execJSON(ctx, s.tx, moveFacts, s.moved, s.day)
	}
	s.latest, s.moved = nil, nil
	return err
}

// channel writes the video's channel and returns its id; NULL when the upstream names none. When the
// channel has a new name, its other videos are indexed under it as well.
func (s *shelf) channel(ctx context.Context, v ingest.Video) (sql.NullInt64, error) {
	if v.ChannelID == "" {
		return sql.NullInt64{}, nil
	}
	if err := s.findChannels(ctx); err != nil {
		return sql.NullInt64{}, err
	}
	known, ok := s.channels[v.ChannelID]
	id := sql.NullInt64{Int64: known.id, Valid: true}
	if ok && known.title == v.Channel {
		return id, nil
	}
	if ok {
		s.channels[v.ChannelID] = knownChannel{known.id, v.Channel}
		if _, err := s.tx.ExecContext(ctx, `UPDATE channels SET title = ? WHERE id = ?`, v.Channel, known.id); err != nil {
			return id, err
		}
		return id, s.reindex(ctx, known.id)
	}
	res, err := s.tx.ExecContext(ctx, addChannel, v.ChannelID, v.Channel)
	if err != nil {
		return id, err
	}
	id.Int64, err = res.LastInsertId()
	s.channels[v.ChannelID] = knownChannel{id.Int64, v.Channel}
	return id, err
}

// reindex writes the index rows of all videos of a channel, which has a new name.
func (s *shelf) reindex(ctx context.Context, channel int64) error {
	if err := s.count(ctx); err != nil {
		return err
	}
	videos := map[int64]ingest.Video{}
	err := each(ctx, s.tx, func(rows *sql.Rows) error {
		var id int64
		v, err := scanVideo(rows, &id)
		videos[id] = v
		return err
	}, `SELECT `+videoColumns+`, videos.id FROM videos LEFT JOIN channels ON channels.id = videos.channel WHERE videos.channel = ?`, channel)
	if err != nil {
		return err
	}
	for id, v := range videos {
		hash := textHash(v)
		if _, err := s.tx.ExecContext(ctx, `UPDATE video_facts SET text_hash = ? WHERE id = ?`, hash, id); err != nil {
			return err
		}
		if k, ok := s.known[v.ID]; ok {
			k.text = hash
			s.known[v.ID] = k
		}
		s.index(id, v)
	}
	return nil
}

// drop deletes a video with its placements and its index row.
func drop(ctx context.Context, tx *txn, id int64) (placements int, err error) {
	res, err := tx.ExecContext(ctx, `DELETE FROM placements WHERE video = ?`, id)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, err
	}
	for _, q := range []string{`DELETE FROM video_text WHERE rowid = ?`, `DELETE FROM video_facts WHERE id = ?`} {
		if _, err := tx.ExecContext(ctx, q, id); err != nil {
			return 0, err
		}
	}
	return int(n), nil
}

// dayOf is the day of a fetch, since 1970, as fetched_day has it.
func dayOf(at time.Time) int64 { return at.UnixMilli() / (24 * time.Hour).Milliseconds() }

// textHash is of everything that the index holds, and of whose channel it is.
func textHash(v ingest.Video) int64 {
	return int64(newHash().texts(v.Title, v.ChannelID, v.Channel).texts(v.Tags...))
}

// factsHash is of everything in video_facts that a video has, text being its textHash. It is never 0.
func factsHash(v ingest.Video, text int64) int64 {
	h := newHash().numbers(text, v.PublishedAt.Unix(), int64(v.Duration/time.Second)).texts(v.Category, v.Language, v.Thumbnail)
	if v.Live {
		h = h.numbers(1)
	}
	return cmp.Or(int64(h), 1)
}

// videoColumns are what scanVideo reads, of videos LEFT JOIN channels.
const videoColumns = `
	video_id, videos.title, coalesce(channels.title, ''), coalesce(channels.channel_id, ''), category, language, thumbnail,
	published_at, duration_s, live, tags, videos.views, videos.likes, videos.comments`

// scanVideo reads videoColumns, and whatever columns come behind them into more.
func scanVideo(rows *sql.Rows, more ...any) (ingest.Video, error) {
	var v ingest.Video
	var published sql.NullInt64
	var seconds int64
	var tags string
	err := rows.Scan(append([]any{&v.ID, &v.Title, &v.Channel, &v.ChannelID, &v.Category, &v.Language, &v.Thumbnail,
		&published, &seconds, &v.Live, &tags, &v.Views, &v.Likes, &v.Comments}, more...)...)
	if err != nil {
		return v, err
	}
	if published.Valid {
		v.PublishedAt = time.Unix(published.Int64, 0).UTC()
	}
	v.Duration = time.Duration(seconds) * time.Second
	if tags != "[]" && json.Unmarshal([]byte(tags), &v.Tags) != nil {
		v.Tags = []string{tags} // damaged, as Check finds by the hash: one video must not hide the others
	}
	return v, nil
}
