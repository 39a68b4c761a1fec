package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/trendvidstream/ingest"
)

// shelf writes videos, their channels and their index rows within one transaction.
type shelf struct {
	tx *txn
	at int64 // when they were fetched, in milliseconds

	known    map[string]knownVideo   // of those to write, by the upstream's id
	channels map[string]knownChannel // of those that matter, by the upstream's id
	texts    map[int64]indexed       // to write into the index, by video; see flush
}

type knownVideo struct{ id, hash int64 }

type knownChannel struct {
	id    int64
	title string
}

// indexed is what the index holds of a video.
type indexed struct{ title, channel, tags string }

const (
	findVideos = `SELECT video_id, videos.id, text_hash FROM json_each(?1) CROSS JOIN videos ON video_id = value`

	addVideo = `
		INSERT INTO videos (video_id, fetched_at, seen_at, views, likes, comments, published_at, duration_s, live, category,
		                    language, thumbnail, text_hash, channel, title, tags)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)`

	// recountVideo leaves the columns that text_hash covers alone, and so their indexes.
	recountVideo = `
		UPDATE videos
		SET fetched_at = ?2, seen_at = coalesce(?3, seen_at), views = ?4, likes = ?5, comments = ?6, published_at = ?7,
		    duration_s = ?8, live = ?9, category = ?10, language = ?11, thumbnail = ?12
		WHERE video_id = ?1`

	indexVideos = `
		INSERT OR REPLACE INTO video_text (rowid, title, channel, tags)
		SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?1)`

	findChannels = `SELECT channel_id, channels.id, title FROM json_each(?1) CROSS JOIN channels ON channel_id = value`
	addChannel   = `INSERT INTO channels (channel_id, title) VALUES (?, ?)`

	changeVideo = `UPDATE videos SET text_hash = ?2, channel = ?3, title = ?4, tags = ?5 WHERE id = ?1`
)

// newShelf finds what is known of the videos that are to be put, all of them at once.
func newShelf(ctx context.Context, tx *txn, at time.Time, videos []ingest.Video) (*shelf, error) {
	s := &shelf{tx: tx, at: at.UnixMilli(), known: map[string]knownVideo{}, channels: map[string]knownChannel{}, texts: map[int64]indexed{}}
	var ids, channels []string
	for _, v := range videos {
		ids = append(ids, v.ID)
	}
	err := lookIn(ctx, tx, findVideos, ids, func(rows *sql.Rows) error {
		var id string
		var k knownVideo
		err := rows.Scan(&id, &k.id, &k.hash)
		s.known[id] = k
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, v := range videos {
		if k, ok := s.known[v.ID]; !ok || k.hash != textHash(v) {
			channels = append(channels, v.ChannelID)
		}
	}
	return s, lookIn(ctx, tx, findChannels, channels, func(rows *sql.Rows) error {
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
	seen := sql.NullInt64{Int64: s.at, Valid: charted}
	published := sql.NullInt64{Int64: v.PublishedAt.Unix(), Valid: !v.PublishedAt.IsZero()}
	state := []any{v.ID, s.at, seen, v.Views, v.Likes, v.Comments, published, int64(v.Duration / time.Second), v.Live,
		v.Category, v.Language, v.Thumbnail}
	hash := textHash(v)
	have, known := s.known[v.ID]
	if !known && !charted {
		return 0, nil
	}
	if known {
		if _, err := s.tx.ExecContext(ctx, recountVideo, state...); err != nil || have.hash == hash {
			return have.id, err
		}
	}
	id, err := s.rewrite(ctx, v, have.id, hash, state)
	if err == nil {
		s.known[v.ID] = knownVideo{id, hash}
		s.index(id, v)
	}
	return id, err
}

// rewrite writes the video's text. id 0 is one that is not there yet: it is added, with its state.
func (s *shelf) rewrite(ctx context.Context, v ingest.Video, id, hash int64, state []any) (int64, error) {
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
	text := []any{hash, channel, v.Title, string(tags)}
	if id != 0 {
		_, err = s.tx.ExecContext(ctx, changeVideo, append([]any{id}, text...)...)
		return id, err
	}
	res, err := s.tx.ExecContext(ctx, addVideo, append(state, text...)...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// index notes what the index is to hold of the video.
func (s *shelf) index(id int64, v ingest.Video) {
	s.texts[id] = indexed{Normalize(v.Title), Normalize(v.Channel), Normalize(strings.Join(v.Tags, "\n"))}
}

// flush writes the index, in one statement: FTS5 writes a segment for each that changes it. It comes behind
// the last put of a transaction, and before anything is deleted in it.
func (s *shelf) flush(ctx context.Context) error {
	rows := make([][4]any, 0, len(s.texts))
	for _, id := range slices.Sorted(maps.Keys(s.texts)) {
		t := s.texts[id]
		rows = append(rows, [4]any{id, t.title, t.channel, t.tags})
	}
	clear(s.texts)
	return execJSON(ctx, s.tx, indexVideos, rows)
}

// channel writes the video's channel and returns its id; NULL when the upstream names none. When the
// channel has a new name, its other videos are indexed under it as well.
func (s *shelf) channel(ctx context.Context, v ingest.Video) (sql.NullInt64, error) {
	if v.ChannelID == "" {
		return sql.NullInt64{}, nil
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
		if _, err := s.tx.ExecContext(ctx, `UPDATE videos SET text_hash = ? WHERE id = ?`, hash, id); err != nil {
			return err
		}
		if _, ok := s.known[v.ID]; ok {
			s.known[v.ID] = knownVideo{id, hash}
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
	for _, q := range []string{`DELETE FROM video_text WHERE rowid = ?`, `DELETE FROM videos WHERE id = ?`} {
		if _, err := tx.ExecContext(ctx, q, id); err != nil {
			return 0, err
		}
	}
	return int(n), nil
}

// textHash is of everything that changeVideo writes. A length goes before each text, so that no two
// lists of texts run into each other.
func textHash(v ingest.Video) int64 {
	h := fnv.New64a()
	var length [8]byte
	for _, text := range append([]string{v.Title, v.ChannelID, v.Channel}, v.Tags...) {
		binary.LittleEndian.PutUint64(length[:], uint64(len(text)))
		_, _ = h.Write(length[:])
		_, _ = h.Write([]byte(text))
	}
	return int64(h.Sum64()) // the bits are what counts; SQLite has signed integers only
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
