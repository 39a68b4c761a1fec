package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store/text"
)

// shelf writes videos, their channels and their index rows within one transaction. Who has put the last of
// them calls flush.
type shelf struct {
	tx  *txn
	at  int64 // when they were fetched, in milliseconds
	day int64 // of at, since 1970

	known    map[string]knownVideo   // of those to write, by the upstream's id
	channels map[string]knownChannel // of those to write, by the upstream's id; nil until one is asked for
	named    []string                // those of new videos
	latest   [][]any                 // to write into video_latest
	moved    []int64                 // whose fetched_day is to become day
	texts    map[int64]indexed       // to write into the index, by video
}

type knownVideo struct{ id, text, facts, day int64 }

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
)

// newShelf finds what is known of the videos that are to be put, all of them at once.
func newShelf(ctx context.Context, tx *txn, at time.Time, videos []ingest.Video) (*shelf, error) {
	s := &shelf{tx: tx, at: at.UnixMilli(), day: dayOf(at), known: map[string]knownVideo{}, texts: map[int64]indexed{}}
	var ids []string
	for _, v := range videos {
		ids = append(ids, v.ID)
	}
	err := lookIn(ctx, tx, findVideos, ids, func(rows *sql.Rows) error {
		var id string
		var k knownVideo
		err := rows.Scan(&id, &k.id, &k.text, &k.facts, &k.day)
		s.known[id] = k
		return err
	})
	for _, v := range videos {
		if _, known := s.known[v.ID]; !known {
			s.named = append(s.named, v.ChannelID)
		}
	}
	return s, err
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
	s.texts[id] = indexed{text.Normalize(v.Title), text.Normalize(v.Channel), text.Normalize(strings.Join(v.Tags, "\n"))}
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

// dayOf is the day of a fetch, since 1970, as fetched_day has it.
func dayOf(at time.Time) int64 { return at.UnixMilli() / (24 * time.Hour).Milliseconds() }
