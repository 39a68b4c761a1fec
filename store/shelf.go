package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// shelf writes videos, their channels and their index rows within one transaction.
type shelf struct {
	tx *sql.Tx
	at int64 // when they were fetched, in milliseconds

	find, add, change, recount, findChannel, addChannel *sql.Stmt

	texts map[int64]indexed // to write into the index, by video; see flush
}

// indexed is what the index holds of a video.
type indexed struct{ title, channel, tags string }

const (
	findVideo = `SELECT id, text_hash FROM videos WHERE video_id = ?`

	addVideo = `
		INSERT INTO videos (video_id, fetched_at, seen_at, views, likes, comments, published_at, duration_s, live, category,
		                    language, thumbnail, text_hash, channel, title, tags)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
		RETURNING id`

	// recountVideo leaves the columns that text_hash covers alone, and so their indexes.
	recountVideo = `
		UPDATE videos
		SET fetched_at = ?2, seen_at = coalesce(?3, seen_at), views = ?4, likes = ?5, comments = ?6, published_at = ?7,
		    duration_s = ?8, live = ?9, category = ?10, language = ?11, thumbnail = ?12
		WHERE video_id = ?1`

	indexVideos = `
		INSERT OR REPLACE INTO video_text (rowid, title, channel, tags)
		SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?1)`

	findChannel = `SELECT id, title FROM channels WHERE channel_id = ?`
	addChannel  = `INSERT INTO channels (channel_id, title) VALUES (?, ?) RETURNING id`

	changeVideo = `UPDATE videos SET text_hash = ?2, channel = ?3, title = ?4, tags = ?5 WHERE id = ?1`
)

// newShelf prepares the statements; they end with the transaction.
func newShelf(ctx context.Context, tx *sql.Tx, at time.Time) (*shelf, error) {
	s := &shelf{tx: tx, at: at.UnixMilli(), texts: map[int64]indexed{}}
	for stmt, query := range map[**sql.Stmt]string{
		&s.find: findVideo, &s.add: addVideo, &s.change: changeVideo, &s.recount: recountVideo,
		&s.findChannel: findChannel, &s.addChannel: addChannel,
	} {
		var err error
		if *stmt, err = tx.PrepareContext(ctx, query); err != nil { //nolint:sqlclosecheck // closed by the end of tx
			return nil, err
		}
	}
	return s, nil
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
	var id, have int64
	err := s.find.QueryRowContext(ctx, v.ID).Scan(&id, &have)
	known := err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	if !known && !charted {
		return 0, nil
	}
	if known {
		if _, err := s.recount.ExecContext(ctx, state...); err != nil || have == hash {
			return id, err
		}
	}
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
	if known {
		if _, err := s.change.ExecContext(ctx, id, hash, channel, v.Title, string(tags)); err != nil {
			return 0, err
		}
	} else if err := s.add.QueryRowContext(ctx, append(state, hash, channel, v.Title, string(tags))...).Scan(&id); err != nil {
		return 0, err
	}
	s.index(id, v)
	return id, nil
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
	id := sql.NullInt64{Valid: true}
	if v.ChannelID == "" {
		return sql.NullInt64{}, nil
	}
	var title string
	err := s.findChannel.QueryRowContext(ctx, v.ChannelID).Scan(&id.Int64, &title)
	if errors.Is(err, sql.ErrNoRows) {
		err = s.addChannel.QueryRowContext(ctx, v.ChannelID, v.Channel).Scan(&id.Int64)
		return id, err
	}
	if err != nil || title == v.Channel {
		return id, err
	}
	if _, err := s.tx.ExecContext(ctx, `UPDATE channels SET title = ? WHERE id = ?`, v.Channel, id.Int64); err != nil {
		return id, err
	}
	return id, s.reindex(ctx, id.Int64)
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
		if _, err := s.tx.ExecContext(ctx, `UPDATE videos SET text_hash = ? WHERE id = ?`, textHash(v), id); err != nil {
			return err
		}
		s.index(id, v)
	}
	return nil
}

// drop deletes a video with its placements and its index row.
func drop(ctx context.Context, tx *sql.Tx, id int64) (placements int, err error) {
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
	if tags != "[]" {
		err = json.Unmarshal([]byte(tags), &v.Tags)
	}
	return v, err
}
