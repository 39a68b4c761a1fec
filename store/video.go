package store

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/trendvidstream/ingest"
)

// videoColumns are the columns that scanVideo reads, from videos LEFT JOIN channels.
const videoColumns = `
	video_id, videos.title, coalesce(channels.title, ''), coalesce(channels.channel_id, ''), category, language, thumbnail,
	published_at, duration_s, live, tags, videos.views, videos.likes, videos.comments`

// withGone is the view videos including gone videos, which have nothing but an id.
const withGone = `(SELECT video_facts.*, views, likes, comments FROM video_facts
	LEFT JOIN video_latest USING (id)) AS videos`

// scanVideo reads videoColumns, and the columns after them into more.
func scanVideo(row scanner, more ...any) (ingest.Video, error) {
	var v ingest.Video
	var seconds int64
	var tags string
	err := row.Scan(append([]any{&v.ID, &v.Title, &v.Channel, &v.ChannelID, &v.Category, &v.Language, &v.Thumbnail,
		inSeconds(&v.PublishedAt), &seconds, &v.Live, &tags, &v.Views, &v.Likes, &v.Comments}, more...)...)
	if err != nil {
		return v, err
	}
	v.Duration = time.Duration(seconds) * time.Second
	v.Tags = readTags(tags)
	return v, nil
}

// readTags reads a JSON array of texts. If none of them has an escape it cuts them apart, in a tenth of the time.
func readTags(stored string) (tags []string) {
	inner, opened := strings.CutPrefix(stored, `["`)
	inner, closed := strings.CutSuffix(inner, `"]`)
	if opened && closed && !strings.ContainsFunc(inner, needsJSON) {
		if tags = strings.Split(inner, `","`); strings.Count(inner, `"`) == 2*(len(tags)-1) {
			return tags
		}
		tags = nil
	}
	if stored != "[]" && json.Unmarshal([]byte(stored), &tags) != nil {
		return []string{stored} // damaged: Check reports it; other videos must stay readable
	}
	return tags
}

// needsJSON reports whether only a JSON parser reads the rune right: an escape, a control character, or invalid UTF-8.
func needsJSON(r rune) bool { return r == '\\' || r < ' ' || r == utf8.RuneError }

// Statements for scanText: selectText, ", " and more columns, fromTexts.
const (
	selectText = `SELECT ` + videoColumns + `, coalesce(descriptions.text, '')`
	fromTexts  = `
		FROM videos LEFT JOIN channels ON channels.id = videos.channel
		LEFT JOIN descriptions ON descriptions.video = videos.id `
)

// scanText reads a video with its description, that is all of its indexed text.
func scanText(row scanner, more ...any) (ingest.Video, error) {
	var description string
	v, err := scanVideo(row, append([]any{&description}, more...)...)
	v.Description = description
	return v, err
}

// dropVideo deletes a video with its placements and its index row.
func dropVideo(ctx context.Context, tx *txn, id int64) (placements int, err error) {
	placements, err = affected(tx.ExecContext(ctx, `DELETE FROM placements WHERE video = ?`, id))
	if err != nil {
		return 0, err
	}
	for _, q := range []string{`DELETE FROM video_text WHERE rowid = ?`, `DELETE FROM video_facts WHERE id = ?`} {
		if _, err := tx.ExecContext(ctx, q, id); err != nil {
			return 0, err
		}
	}
	return placements, nil
}

// dropGone deletes a video that the upstream no longer has. Its places in charts stay until their own age, with the row
// that they refer to, which keeps nothing but the video's id.
func dropGone(ctx context.Context, tx *txn, id int64) error {
	var placed bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM placements WHERE video = ?)`,
		id).Scan(&placed); err != nil {
		return err
	}
	if !placed {
		_, err := dropVideo(ctx, tx, id)
		return err
	}
	for _, q := range []string{
		`DELETE FROM video_text WHERE rowid = ?`, `DELETE FROM video_latest WHERE id = ?`,
		`DELETE FROM absences WHERE video = ?`,
		`DELETE FROM descriptions WHERE video = ?`,
		`UPDATE video_facts SET gone = 1, text_hash = 0, facts_hash = 0, fetched_day = 0, channel = NULL,
			published_at = NULL, duration_s = 0, category = '', language = '', thumbnail = '', title = '', tags = '[]'
			WHERE id = ?`,
	} {
		if _, err := tx.ExecContext(ctx, q, id); err != nil {
			return err
		}
	}
	return nil
}

// textHash hashes a video's indexed text and its channel's ID.
func textHash(v ingest.Video) int64 {
	h := newHash().texts(v.Title, v.ChannelID, v.Channel).texts(v.Tags...)
	if v.Description != "" {
		h = h.numbers(-1).texts(v.Description) // no text has this length: it is not another tag
	}
	return int64(h)
}

// factsHash hashes a video's row in video_facts; text is its textHash. The result is never 0.
func factsHash(v ingest.Video, text int64) int64 {
	h := newHash().numbers(text, v.PublishedAt.Unix(), int64(v.Duration/time.Second)).texts(v.Category,
		v.Language, v.Thumbnail)
	if v.Live {
		h = h.numbers(1)
	}
	return cmp.Or(int64(h), 1)
}

// hash is 64-bit FNV-1a, without the copies that hash/fnv makes. In a column it is a signed INTEGER of the same bits.
type hash uint64

func newHash() hash { return 14695981039346656037 }

// numbers adds whole numbers, the lowest byte first.
func (h hash) numbers(numbers ...int64) hash {
	for _, n := range numbers {
		for range 8 {
			h = (h ^ hash(byte(n))) * 1099511628211
			n >>= 8
		}
	}
	return h
}

// texts adds texts, each preceded by its length, so that different lists never hash the same bytes.
func (h hash) texts(texts ...string) hash {
	for _, text := range texts {
		h = h.numbers(int64(len(text)))
		for i := range len(text) {
			h = (h ^ hash(text[i])) * 1099511628211
		}
	}
	return h
}
