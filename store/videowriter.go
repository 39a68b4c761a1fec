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

// videoWriter writes videos, their channels and index rows in one transaction and few statements, as each statement
// is a round trip to Postgres.
type videoWriter struct {
	tx       *txn
	known    map[string]knownVideo   // stored ones, by the upstream's id
	channels map[string]knownChannel // the versions of stored videos, by the upstream's id
	texts    texts
}

type knownVideo struct {
	id, text, facts, day int64
	trait                byte
}

type knownChannel struct {
	id    int64
	title string
}

const (
	findVideos = `
		SELECT video_id, video_facts.id, text_hash, facts_hash, fetched_day, views, category, channel,
			coalesce(channel_id, ''), coalesce(channels.title, '')
		FROM json_each(?1) AS given CROSS JOIN video_facts ON video_id = given.value
		LEFT JOIN video_latest AS latest ON latest.id = video_facts.id LEFT JOIN channels ON channels.id = channel`

	findChannels = `SELECT channel_id, channels.id, title FROM json_each(?1) AS given
		CROSS JOIN channels ON channel_id = given.value`
	addChannels   = `INSERT INTO channels (channel_id, title) VALUES`
	addedChannels = ` RETURNING channel_id, id, title`

	addFacts = `
		INSERT INTO video_facts (text_hash, facts_hash, fetched_day, channel, published_at, duration_s, live, category,
			language,
		                         thumbnail, title, tags, video_id)
		VALUES`
	addedFacts = ` RETURNING video_id, id`

	changeFacts = `
		UPDATE video_facts
		SET text_hash = ?1, facts_hash = ?2, fetched_day = ?3, channel = ?4, published_at = ?5, duration_s = ?6, live = ?7,
		    category = ?8, language = ?9, thumbnail = ?10, title = ?11, tags = ?12, gone = 0
		WHERE video_id = ?13`

	moveFacts = `UPDATE video_facts SET fetched_day = ?2 WHERE id IN (SELECT CAST(value AS bigint) FROM json_each(?1))`

	addLatest  = `INSERT INTO video_latest (id, fetched_at, seen_at, views, likes, comments) VALUES`
	elseLatest = `
		ON CONFLICT (id) DO UPDATE
		SET fetched_at = excluded.fetched_at, seen_at = max(video_latest.seen_at, excluded.seen_at), views = excluded.views,
		    likes = excluded.likes, comments = excluded.comments,
		    upkeep = CASE WHEN excluded.seen_at > 0 THEN nullif(video_latest.upkeep, 0) ELSE video_latest.upkeep END`
)

// writeVideos writes videos as fetched at a time, and returns their IDs by the IDs of the upstream. It writes the
// index only where the indexed text changed. found says that these are sightings (schema.sql), in a chart of series
// unless that is 0; otherwise videos that are not stored are skipped. Of duplicates the last counts, as does a
// channel's last name.
func writeVideos(ctx context.Context, tx *txn, at time.Time, series int64, videos []ingest.Video,
	found bool) (map[string]int64, error) {
	w := &videoWriter{tx: tx, known: map[string]knownVideo{}, channels: map[string]knownChannel{}, texts: texts{}}
	if err := w.findVideos(ctx, videos); err != nil {
		return nil, err
	}
	videos = slices.DeleteFunc(slices.Clone(videos), func(v ingest.Video) bool {
		_, known := w.known[v.ID]
		return v.ID == "" || !found && !known
	})
	if err := w.writeChannels(ctx, videos); err != nil {
		return nil, err
	}
	last, ids := map[string]ingest.Video{}, map[string]int64{}
	var order []string
	for _, v := range videos {
		if _, found := last[v.ID]; !found {
			order = append(order, v.ID)
		}
		if v.ChannelID != "" {
			v.Channel = w.channels[v.ChannelID].title
		}
		last[v.ID] = v
	}
	if err := w.writeFacts(ctx, dayOf(at), order, last); err != nil {
		return nil, err
	}
	seen := int64(0)
	if found {
		seen = at.UnixMilli()
	}
	var latest [][]any
	traits := map[int64]byte{}
	for _, id := range order {
		v, k := last[id], w.known[id]
		ids[id] = k.id
		latest = append(latest, []any{k.id, at.UnixMilli(), seen, v.Views, v.Likes, v.Comments})
		if trait := traitOf(v.Views, v.Category); trait != k.trait {
			traits[k.id] = trait
		}
	}
	err := insertRows(ctx, tx, addLatest, elseLatest, latest)
	if err == nil && series != 0 {
		err = addCharted(ctx, tx, series, slices.Collect(maps.Values(ids)))
	}
	if err == nil {
		err = writeTraits(ctx, tx, traits)
	}
	if err == nil {
		err = w.texts.write(ctx, tx)
	}
	return ids, err
}

func (w *videoWriter) findVideos(ctx context.Context, videos []ingest.Video) error {
	var ids []string
	for _, v := range videos {
		ids = append(ids, v.ID)
	}
	return each(ctx, w.tx, func(rows *sql.Rows) error {
		var id, category, channel, title string
		var k knownVideo
		var views *int64
		var number sql.NullInt64
		err := rows.Scan(&id, &k.id, &k.text, &k.facts, &k.day, &views, &category, &number, &channel, &title)
		k.trait = traitOf(views, category)
		w.known[id], w.channels[channel] = k, knownChannel{number.Int64, title}
		return err
	}, findVideos, listJSON(ids))
}

// writeChannels writes the videos' channels. If one has a new name, all its videos are reindexed.
func (w *videoWriter) writeChannels(ctx context.Context, videos []ingest.Video) error {
	names := map[string]string{}
	var order, others []string
	for _, v := range videos {
		if _, found := names[v.ChannelID]; !found && v.ChannelID != "" {
			order = append(order, v.ChannelID)
			if _, known := w.channels[v.ChannelID]; !known {
				others = append(others, v.ChannelID)
			}
		}
		names[v.ChannelID] = v.Channel
	}
	scan := func(rows *sql.Rows) error {
		var id string
		var k knownChannel
		err := rows.Scan(&id, &k.id, &k.title)
		w.channels[id] = k
		return err
	}
	if len(others) > 0 {
		if err := each(ctx, w.tx, scan, findChannels, listJSON(others)); err != nil {
			return err
		}
	}
	var fresh [][]any
	for _, id := range order {
		switch known, ok := w.channels[id]; {
		case !ok:
			fresh = append(fresh, []any{id, names[id]})
		case known.title != names[id]:
			w.channels[id] = knownChannel{known.id, names[id]}
			if err := w.rename(ctx, w.channels[id]); err != nil {
				return err
			}
		}
	}
	return returnRows(ctx, w.tx, addChannels, addedChannels, fresh, scan)
}

// rename gives a channel a new name, and reindexes its videos. It resets their facts_hash, so that a video fetched
// under the old name restores that name.
func (w *videoWriter) rename(ctx context.Context, channel knownChannel) error {
	if _, err := w.tx.ExecContext(ctx, `UPDATE channels SET title = ? WHERE id = ?`, channel.title,
		channel.id); err != nil {
		return err
	}
	videos := map[int64]ingest.Video{}
	err := each(ctx, w.tx, func(rows *sql.Rows) error {
		var id int64
		v, err := scanText(rows, &id)
		videos[id] = v
		return err
	}, selectText+`, videos.id`+fromTexts+`WHERE videos.channel = ?`, channel.id)
	if err != nil {
		return err
	}
	for id, v := range videos {
		hash := textHash(v)
		if _, err := w.tx.ExecContext(ctx, `UPDATE video_facts SET text_hash = ?, facts_hash = 0 WHERE id = ?`,
			hash, id); err != nil {
			return err
		}
		if k, ok := w.known[v.ID]; ok {
			k.text, k.facts = hash, 0
			w.known[v.ID] = k
		}
		w.texts.add(id, v)
	}
	return nil
}

// writeFacts writes new and changed videos, and the day of the fetch. New rows are in the given order.
func (w *videoWriter) writeFacts(ctx context.Context, day int64, order []string, videos map[string]ingest.Video) error {
	var fresh [][]any
	var moved []int64
	var changed []ingest.Video
	for _, id := range order {
		v, k := videos[id], w.known[id]
		text := textHash(v)
		facts := factsHash(v, text)
		if facts == k.facts {
			if k.day != day {
				moved = append(moved, k.id)
			}
			continue
		}
		if text != k.text || k.id == 0 {
			changed = append(changed, v)
		}
		channel := sql.NullInt64{Int64: w.channels[v.ChannelID].id, Valid: v.ChannelID != ""}
		published := sql.NullInt64{Int64: v.PublishedAt.Unix(), Valid: !v.PublishedAt.IsZero()}
		row := []any{text, facts, day, channel, published, int64(v.Duration / time.Second), v.Live,
			v.Category, v.Language, v.Thumbnail,
			v.Title, listJSON(v.Tags), v.ID}
		if k.id == 0 {
			fresh = append(fresh, row)
		} else if _, err := w.tx.ExecContext(ctx, changeFacts, row...); err != nil {
			return err
		}
	}
	if err := returnRows(ctx, w.tx, addFacts, addedFacts, fresh, func(row *sql.Rows) error {
		var id string
		var k knownVideo
		err := row.Scan(&id, &k.id)
		w.known[id] = k
		return err
	}); err != nil {
		return err
	}
	if err := w.writeTexts(ctx, changed, len(fresh)); err != nil {
		return err
	}
	return execJSON(ctx, w.tx, moveFacts, moved, day)
}

// writeTexts writes the descriptions of videos whose text changed, and notes the texts for their index rows. fresh
// of the videos are new.
func (w *videoWriter) writeTexts(ctx context.Context, changed []ingest.Video, fresh int) error {
	var described [][]any
	var bare []int64
	for _, v := range changed {
		id := w.known[v.ID].id
		w.texts.add(id, v)
		if v.Description != "" {
			described = append(described, []any{id, v.Description})
		} else {
			bare = append(bare, id)
		}
	}
	if len(bare) > 0 && len(changed) > fresh {
		const drop = `DELETE FROM descriptions WHERE video IN (SELECT CAST(value AS bigint) FROM json_each(?1))`
		if err := execJSON(ctx, w.tx, drop, bare); err != nil {
			return err
		}
	}
	return insertRows(ctx, w.tx, `INSERT INTO descriptions (video, text) VALUES`,
		` ON CONFLICT (video) DO UPDATE SET text = excluded.text`, described)
}

// texts are videos' texts as indexed: title, channel, tags, description.
type texts map[int64][4]string

func (t texts) add(id int64, v ingest.Video) {
	t[id] = [4]string{text.Normalize(v.Title), text.Normalize(v.Channel), text.Normalize(strings.Join(v.Tags, "\n")),
		text.Normalize(v.Description)}
}

// write writes the index rows. It must precede any deletion in the transaction. It is one statement, as FTS5 writes a
// segment for each.
func (t texts) write(ctx context.Context, tx *txn) error {
	rows, words := make([][5]any, 0, len(t)), map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(t)) {
		rows = append(rows, [5]any{id, t[id][0], t[id][1], t[id][2], t[id][3]})
		for _, field := range t[id] {
			for word := range strings.FieldsSeq(field) {
				words[word] = true
			}
		}
	}
	if err := execJSON(ctx, tx, addWords, slices.Sorted(maps.Keys(words))); err != nil {
		return err
	}
	return execJSON(ctx, tx, `
		INSERT OR REPLACE INTO video_text (rowid, title, channel, tags, description)
		SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?1)`, rows)
}

// addWords keeps the words in ?1. An engine does that itself.
const addWords = `INSERT OR IGNORE INTO words SELECT value FROM json_each(?1)`

// repairStep is how many index rows one transaction writes, so that other writers wait only milliseconds.
const repairStep = 200

// rewriteIndex writes the videos' index rows, and the hash of their present text.
func rewriteIndex(ctx context.Context, tx *txn, ids []int64) error {
	texts := texts{}
	for _, id := range ids {
		v, err := scanText(tx.QueryRowContext(ctx, selectText+fromTexts+`WHERE videos.id = ?`, id))
		if err != nil {
			return err
		}
		// Without a channel's row, its name is known only through the hash, which must stay.
		if _, err := tx.ExecContext(ctx, `UPDATE video_facts SET text_hash = ? WHERE id = ? AND channel IS NOT NULL`,
			textHash(v), id); err != nil {
			return err
		}
		texts.add(id, v)
	}
	return texts.write(ctx, tx)
}

// dayOf returns the day of a fetch, counted from 1970, as in fetched_day.
func dayOf(at time.Time) int64 { return at.UnixMilli() / (24 * time.Hour).Milliseconds() }
