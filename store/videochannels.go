package store

import (
	"context"
	"database/sql"
	"slices"

	"github.com/trendvidstream/ingest"
)

type knownChannel struct {
	id    int64
	title string
}

const (
	findChannels  = `SELECT channel_id, channels.id, title FROM json_each(?1) AS given CROSS JOIN channels ON channel_id = given.value`
	addChannels   = `INSERT INTO channels (channel_id, title) VALUES`
	addedChannels = ` RETURNING channel_id, id, title`
)

// findChannel returns the row of a channel. The first call looks up the channels of all new videos at once.
// Known videos are not included: their channel, or its name, changes too rarely.
func (w *videoWriter) findChannel(ctx context.Context, id string) (knownChannel, bool, error) {
	if w.channels == nil {
		w.channels = map[string]knownChannel{}
		if err := w.findChannels(ctx, w.newChannels...); err != nil {
			return knownChannel{}, false, err
		}
	}
	if k, ok := w.channels[id]; ok || slices.Contains(w.newChannels, id) {
		return k, ok, nil
	}
	err := w.findChannels(ctx, id)
	k, ok := w.channels[id]
	return k, ok, err
}

func (w *videoWriter) findChannels(ctx context.Context, ids ...string) error {
	return each(ctx, w.tx, w.scanChannel, findChannels, listJSON(ids))
}

// channel writes the video's channel and returns its ID; NULL if the upstream names none. If the channel has a new
// name, its other videos are reindexed under it as well.
func (w *videoWriter) channel(ctx context.Context, v ingest.Video) (sql.NullInt64, error) {
	if v.ChannelID == "" {
		return sql.NullInt64{}, nil
	}
	known, ok, err := w.findChannel(ctx, v.ChannelID)
	if err != nil {
		return sql.NullInt64{}, err
	}
	id := sql.NullInt64{Int64: known.id, Valid: true}
	if ok && known.title == v.Channel {
		return id, nil
	}
	if ok {
		w.channels[v.ChannelID] = knownChannel{known.id, v.Channel}
		if _, err := w.tx.ExecContext(ctx, `UPDATE channels SET title = ? WHERE id = ?`, v.Channel, known.id); err != nil {
			return id, err
		}
		return id, w.reindex(ctx, known.id)
	}
	err = w.addChannels(ctx, [][]any{{v.ChannelID, v.Channel}})
	id.Int64 = w.channels[v.ChannelID].id
	return id, err
}

// addChannels writes new channels, each with its ID and its name.
func (w *videoWriter) addChannels(ctx context.Context, rows [][]any) error {
	return returnRows(ctx, w.tx, addChannels, addedChannels, rows, w.scanChannel)
}

func (w *videoWriter) scanChannel(rows *sql.Rows) error {
	var id string
	var k knownChannel
	err := rows.Scan(&id, &k.id, &k.title)
	w.channels[id] = k
	return err
}

// reindex writes the index rows of all videos of a channel that has a new name. It resets their facts_hash, so that a
// video fetched under the old name again restores that name.
func (w *videoWriter) reindex(ctx context.Context, channel int64) error {
	if err := w.count(ctx); err != nil {
		return err
	}
	videos := map[int64]ingest.Video{}
	err := each(ctx, w.tx, func(rows *sql.Rows) error {
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
		if _, err := w.tx.ExecContext(ctx, `UPDATE video_facts SET text_hash = ?, facts_hash = 0 WHERE id = ?`, hash, id); err != nil {
			return err
		}
		if k, ok := w.known[v.ID]; ok {
			k.text, k.facts = hash, 0
			w.known[v.ID] = k
		}
		w.index(id, v)
	}
	return nil
}
