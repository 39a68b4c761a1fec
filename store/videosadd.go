package store

import (
	"context"
	"database/sql"

	"github.com/trendvidstream/ingest"
)

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
		k := knownVideo{0, text, factsHash(v, text), w.day}
		rows = append(rows, factsRow(v, k, sql.NullInt64{Int64: w.channels[v.ChannelID].id, Valid: v.ChannelID != ""}))
		w.known[v.ID] = k
	}
	err := returnRows(ctx, w.tx, addFacts, addedFacts, rows, func(row *sql.Rows) error {
		var id string
		var number int64
		err := row.Scan(&id, &number)
		k := w.known[id]
		k.id = number
		w.known[id] = k
		return err
	})
	for _, v := range fresh {
		w.index(w.known[v.ID].id, v)
	}
	return err
}
