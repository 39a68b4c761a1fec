package main

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the store's driver

	"github.com/trendvidstream/ingest"
)

// naive is the obvious first design: one table with a full-text index of SQLite, and every sighting deletes the row and
// writes it again.
type naive struct {
	slotless

	db   *sql.DB
	slot int
}

//go:embed naive.sql
var naiveSchema string

// openFile makes a database as durable as the store.
func openFile(ctx context.Context, dir, name, schema string) (*sql.DB, error) {
	file := url.URL{Scheme: "file", Path: filepath.Join(dir, name)}
	db, err := sql.Open("sqlite", file.String()+"?_txlock=immediate&_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

func openNaive(ctx context.Context, dir string) (*naive, error) {
	db, err := openFile(ctx, dir, "naive.db", naiveSchema)
	return &naive{db: db}, err
}

func (n *naive) Close() error { return n.db.Close() }

func (n *naive) save(ctx context.Context, c chart) error {
	n.slot++
	rank := 0
	return inPages(c.videos, perPage, func(videos []ingest.Video, _ bool) error {
		return within(ctx, n.db, naiveStatements, func(do []*sql.Stmt) error {
			for _, v := range videos {
				rank++
				for i, args := range [][]any{{v.ID}, {v.ID}, columnsOf(v, c.at), textOf(v), {n.slot, rank, v.ID, v.Views, v.Likes, v.Comments}} {
					if _, err := do[i].ExecContext(ctx, args...); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

var naiveStatements = []string{
	`DELETE FROM video_text WHERE rowid = (SELECT rowid FROM videos WHERE video_id = ?)`,
	`DELETE FROM videos WHERE video_id = ?`,
	`INSERT INTO videos (video_id, fetched_at, seen_at, views, likes, comments, published_at, duration_s, live, category, language,
	                     thumbnail, title, channel, channel_id, tags)
	 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	`INSERT INTO video_text (rowid, title, channel, tags) VALUES ((SELECT rowid FROM videos WHERE video_id = ?), ?, ?, ?)`,
	`INSERT OR IGNORE INTO placements (slot, rank, video_id, views, likes, comments) VALUES (?, ?, ?, ?, ?, ?)`,
}

// unindexed is the store's own tables of videos, and its placements, without a search index.
type unindexed struct {
	slotless

	db   *sql.DB
	slot int
}

func openUnindexed(ctx context.Context, dir string) (*unindexed, error) {
	schema, _, _ := strings.Cut(ingest.Schema, "CREATE VIRTUAL TABLE")
	db, err := openFile(ctx, dir, "unindexed.db", schema)
	return &unindexed{db: db}, err
}

func (u *unindexed) Close() error { return u.db.Close() }

func (u *unindexed) save(ctx context.Context, c chart) error {
	u.slot++
	rank := 0
	return inPages(c.videos, perPage, func(videos []ingest.Video, _ bool) error {
		return within(ctx, u.db, unindexedStatements, func(do []*sql.Stmt) error {
			for _, v := range videos {
				rank++
				if _, err := do[0].ExecContext(ctx, v.ChannelID, v.Channel); err != nil {
					return err
				}
				var id int64
				columns := columnsOf(v, c.at)
				if err := do[1].QueryRowContext(ctx, append(columns[:1:1], columns[6:]...)...).Scan(&id); err != nil {
					return err
				}
				if _, err := do[2].ExecContext(ctx, append([]any{id}, columns[1:6]...)...); err != nil {
					return err
				}
				if _, err := do[3].ExecContext(ctx, u.slot, rank, id, 1, v.Views, v.Likes, v.Comments); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

var unindexedStatements = []string{
	`INSERT INTO channels (channel_id, title) VALUES (?, ?) ON CONFLICT (channel_id) DO UPDATE SET title = excluded.title`,
	`INSERT INTO video_facts (video_id, published_at, duration_s, live, category, language, thumbnail, title, channel, text_hash, tags)
	 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (SELECT id FROM channels WHERE channel_id = ?10), length(?9), ?11)
	 ON CONFLICT (video_id) DO UPDATE SET
	   published_at = ?2, duration_s = ?3, live = ?4, category = ?5, language = ?6, thumbnail = ?7, title = ?8, channel = excluded.channel, tags = ?11
	 RETURNING id`,
	`INSERT INTO video_latest (id, fetched_at, seen_at, views, likes, comments) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
	 ON CONFLICT (id) DO UPDATE SET fetched_at = ?2, seen_at = ?3, views = ?4, likes = ?5, comments = ?6`,
	`INSERT INTO placements (slot, rank, video, series, views, likes, comments) VALUES (?, ?, ?, ?, ?, ?, ?)
	 ON CONFLICT (video, series, slot) DO NOTHING`,
}

// within runs do over the prepared statements in one transaction.
func within(ctx context.Context, db *sql.DB, statements []string, do func([]*sql.Stmt) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	prepared := make([]*sql.Stmt, len(statements))
	for i, s := range statements {
		if prepared[i], err = tx.PrepareContext(ctx, s); err != nil { //nolint:sqlclosecheck // closed by the end of tx
			return err
		}
	}
	if err := do(prepared); err != nil {
		return err
	}
	return tx.Commit()
}

func columnsOf(v ingest.Video, at time.Time) []any {
	tags, err := json.Marshal(v.Tags)
	if err != nil || v.Tags == nil {
		tags = []byte("[]")
	}
	return []any{v.ID, at.UnixMilli(), at.UnixMilli(), v.Views, v.Likes, v.Comments, v.PublishedAt.Unix(), int64(v.Duration / time.Second), v.Live,
		v.Category, v.Language, v.Thumbnail, v.Title, v.Channel, v.ChannelID, string(tags)}
}

func textOf(v ingest.Video) []any { return []any{v.ID, v.Title, v.Channel, strings.Join(v.Tags, " ")} }
