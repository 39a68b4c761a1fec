package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"slices"
)

// size reports the size of the tables, for the recorded charts and for generated ones.
func (b *bench) size(ctx context.Context) error {
	b.report.Section("Size", "Bytes of whole pages (`dbstat`), as the store leaves them: no VACUUM. Placements with their index, beside the videos and the words.")
	var rows [][]string
	once := newGenerator().charts(b.rows / 50)
	twice := again(once)
	thrice := slices.Concat(once, twice, again(twice))
	for _, c := range []corpus{{"real rows", b.real}, {"generated rows, charted three times", thrice}} {
		if len(c.charts) == 0 {
			continue
		}
		err := b.inDir(func(dir string) error {
			s, err := openOurs(ctx, dir)
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			if _, err := load(ctx, s, c.charts, nil); err != nil {
				return err
			}
			line, perPlacement, err := sizes(ctx, s.Path())
			rows = append(rows, append([]string{c.name}, line...))
			b.report.Goal("a placement with its index, "+c.name, "<= 60 bytes", fmt.Sprintf("%.1f bytes", perPlacement), perPlacement <= 60)
			return err
		})
		if err != nil {
			return err
		}
	}
	b.report.Table([]string{"", "placements", "bytes each, with index", "videos", "bytes each, with indexes", "words of a video, bytes"}, rows)
	return nil
}

func sizes(ctx context.Context, file string) ([]string, float64, error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file}).String()+"?mode=ro")
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = db.Close() }()
	var placements, videos, ofPlacements, ofVideos, ofWords float64
	err = db.QueryRowContext(ctx, `
		SELECT (SELECT count(*) FROM placements), (SELECT count(*) FROM videos),
		       (SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = 'placements')),
		       (SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name IN ('video_facts', 'video_latest'))),
		       (SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'video\_text\_%' ESCAPE '\')`).
		Scan(&placements, &videos, &ofPlacements, &ofVideos, &ofWords)
	each := ofPlacements / placements
	return []string{thousands(int(placements)), fmt.Sprintf("%.1f", each), thousands(int(videos)), fmt.Sprintf("%.0f", ofVideos/videos), fmt.Sprintf("%.0f", ofWords/videos)}, each, err
}
