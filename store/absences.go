package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/trendvidstream/ingest"
)

// VideosInDoubt implements fetch.Library.
func (s *Store) VideosInDoubt(ctx context.Context, askedBefore time.Time, n int) ([]string, error) {
	return collectView(ctx, s.database, "find the videos that look-ups left out", scanValue[string], `
		SELECT video_id FROM absences JOIN videos ON videos.id = video
		WHERE asked_at > fetched_at AND asked_at <= ? ORDER BY asked_at, video LIMIT ?`, askedBefore.UnixMilli(), n)
}

// Witnesses implements fetch.Library.
func (s *Store) Witnesses(ctx context.Context, n int) ([]string, error) {
	return collectView(ctx, s.database, "find videos that are there", scanValue[string], `
		SELECT video_id FROM videos
		WHERE NOT EXISTS (SELECT 1 FROM absences WHERE video = videos.id AND asked_at > fetched_at)
		ORDER BY fetched_day DESC, id DESC LIMIT ?`, n)
}

// putRequested writes the requested videos, each once, and notes the absent ones. found is for writeVideos; a witness
// is not found.
func putRequested(ctx context.Context, tx *txn, at time.Time, asked ingest.Asked, videos []ingest.Video,
	found bool) (came int, absent []string, a ingest.Absences, err error) {
	wanted := map[string]bool{}
	for _, id := range asked.Witnesses {
		wanted[id] = false
	}
	for _, id := range asked.IDs {
		wanted[id] = true
	}
	var those, witnesses []ingest.Video
	for _, v := range videos {
		about, ok := wanted[v.ID]
		switch {
		case !ok:
			continue
		case about:
			those = append(those, v)
		default:
			witnesses = append(witnesses, v)
		}
		delete(wanted, v.ID)
	}
	if _, err := writeVideos(ctx, tx, at, 0, those, found); err != nil {
		return 0, nil, a, err
	}
	if _, err := writeVideos(ctx, tx, at, 0, witnesses, false); err != nil {
		return 0, nil, a, err
	}
	absent, proved := asked.Judge(videos)
	a = ingest.Absences{Missing: len(absent), Suspect: !proved}
	a.Doubted, a.Deleted, err = noteAbsences(ctx, tx, at, absent, proved && len(witnesses) > 0, proved)
	return len(those), absent, a, err
}

// noteAbsences notes the stored videos that an answer left out. If confirmed, it deletes the videos that a look-up
// had left out ingest.RecheckAfter or longer before, unless the answer lacks others too. confirmed says that witnesses
// were asked for, too: a repeated question may get its answer from a cache on the way.
func noteAbsences(ctx context.Context, tx *txn, at time.Time, absent []string, confirmed,
	proved bool) (doubted, deleted int, err error) {
	if len(absent) == 0 {
		return 0, 0, nil
	}
	type row struct {
		video int64
		since sql.NullInt64
	}
	rows, err := collect(ctx, tx, func(r scanner) (one row, err error) {
		return one, r.Scan(&one.video, &one.since)
	}, `
		SELECT videos.id, since FROM json_each(?1) AS given CROSS JOIN videos ON video_id = given.value
		LEFT JOIN absences ON video = videos.id AND asked_at > fetched_at`, listJSON(absent))
	if err != nil {
		return 0, 0, err
	}
	var before []int64 // left out before
	for _, r := range rows {
		if r.since.Valid && r.since.Int64 <= at.Add(-ingest.RecheckAfter).UnixMilli() {
			before = append(before, r.video)
		}
	}
	if confirmed && len(before) == len(absent) {
		for _, video := range before {
			if err := dropGone(ctx, tx, video); err != nil {
				return 0, 0, err
			}
		}
		return 0, len(before), nil
	}
	var noted [][]any
	for _, r := range rows {
		if proved && !r.since.Valid {
			r.since = sql.NullInt64{Int64: at.UnixMilli(), Valid: true}
		}
		noted = append(noted, []any{r.video, at.UnixMilli(), r.since})
	}
	return len(noted), 0, insertRows(ctx, tx, `INSERT INTO absences (video, asked_at, since) VALUES`,
		` ON CONFLICT (video) DO UPDATE SET asked_at = excluded.asked_at, since = excluded.since`, noted)
}
