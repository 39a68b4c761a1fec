package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/trendvidstream/ingest"
)

// videoColumns are the columns that scanVideo reads, from videos LEFT JOIN channels.
const videoColumns = `
	video_id, videos.title, coalesce(channels.title, ''), coalesce(channels.channel_id, ''), category, language, thumbnail,
	published_at, duration_s, live, tags, videos.views, videos.likes, videos.comments`

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
	if tags != "[]" && json.Unmarshal([]byte(tags), &v.Tags) != nil {
		v.Tags = []string{tags} // damaged, which Check reports by the hash; one video must not hide the others
	}
	return v, nil
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
