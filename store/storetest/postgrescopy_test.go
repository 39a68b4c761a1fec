//go:build unix

package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/pgstore"
)

// here are stores in PostgreSQL.
var here = Place{New: place, Open: openAny, Exec: execute}

// openAny opens the store of a URL, or of a directory.
func openAny(ctx context.Context, name string, o store.Options) (*store.Store, error) {
	if strings.Contains(name, "://") {
		return pgstore.Open(ctx, name, o)
	}
	return store.Open(ctx, name, o)
}

// execute runs a statement as any client might.
func execute(t testing.TB, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestLongPostgresCopy(t *testing.T) {
	place(t) // or skip
	for _, way := range []struct {
		name     string
		from, to Place
	}{{"from SQLite", files, here}, {"to SQLite", here, files}} {
		t.Run(way.name, func(t *testing.T) { runCopy(t, way.from, way.to) })
	}
}

// There and back again a store is the same, byte by byte, where PostgreSQL can keep every text of it.
func TestACopyComesBackAsItWas(t *testing.T) {
	a, name := files.filled(t)
	files.Exec(t, name, `UPDATE video_facts SET title = 'x', tags = '[]' WHERE instr(title, char(0)) > 0 OR tags LIKE '%\u0000%' OR hex(title) LIKE '%FF%'`)
	files.Exec(t, name, `UPDATE channels SET title = 'y' WHERE instr(title, char(0)) > 0 OR hex(title) LIKE '%FF%'`)
	hashes := []string{}
	for _, to := range []Place{here, files} {
		target := to.New(t)
		b, err := to.Open(t.Context(), target, store.Options{Upstream: Upstream})
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.CopyInto(t.Context(), b, store.CopyOptions{})
		if err != nil || got.Plain != 0 {
			t.Fatalf("copied %+v, %v, want Plain 0", got, err)
		}
		hashes = append(hashes, fmt.Sprint(got.Tables))
		a = b
		t.Cleanup(func() { _ = b.Close() })
	}
	if hashes[0] != hashes[1] {
		t.Errorf("what went was\n%s\nand what came back\n%s", hashes[0], hashes[1])
	}
}

// Variables that make of this test another process, which copies until it is killed.
const copyFrom, copyTo = "STORE_TEST_COPY_FROM", "STORE_TEST_COPY_TO"

// copyUntilKilled copies in small steps and says when each is done.
func copyUntilKilled() error {
	ctx := context.Background()
	from, err := openAny(ctx, os.Getenv(copyFrom), store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	to, err := openAny(ctx, os.Getenv(copyTo), store.Options{Upstream: from.Upstream()})
	if err != nil {
		return err
	}
	_, err = from.CopyInto(ctx, to, store.CopyOptions{Step: 20, Progress: func(table string, done, of int) { fmt.Println(table, done, of) }})
	return errors.Join(err, to.Close(), from.Close())
}

// Killed at any instruction, in either direction, a copy leaves an empty store or a whole one.
func TestLongAKilledCopyLeavesNothing(t *testing.T) {
	place(t) // or skip
	for _, way := range []struct{ from, to Place }{{files, here}, {here, files}} {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		s, from := way.from.filled(t)
		at := time.Date(2026, 2, 14, 12, 30, 0, 0, time.UTC)
		for i := range 20 {
			Chart(t, s, "US", at.Add(time.Duration(i)*time.Minute), Page(
				Titled(fmt.Sprint("a", i), "Wald"), Titled(fmt.Sprint("b", i), "Wiese"), Titled("c", "Feld")))
		}
		to := way.to.New(t)
		kills := 0
		for {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), copyFrom+"="+from, copyTo+"="+to)
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for n := r.IntN(8 * (kills + 1)); n >= 0 && lines.Scan(); n-- {
			}
			time.Sleep(time.Duration(r.IntN(3000)) * time.Microsecond) // a moment in the middle of the next step
			_ = cmd.Process.Kill()
			for lines.Scan() {
			}
			if err := cmd.Wait(); err == nil {
				break
			} else if cmd.ProcessState.ExitCode() >= 0 {
				t.Fatalf("seed %d, after %d kills: %s, want less than 0", seed, kills, said.String())
			}
			kills++
		}
		b, err := openAny(t.Context(), to, store.Options{Upstream: Upstream})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.CopyInto(t.Context(), b, store.CopyOptions{})
		if err != nil || !got.Already {
			t.Errorf("seed %d, after %d kills: %+v, %v", seed, kills, got, err)
		}
		if kills < 3 {
			t.Errorf("it was killed %d times: that proves little, want at least 3", kills)
		}
		t.Logf("killed %d times, seed %d", kills, seed)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A large store: it says how long a copy takes, either way, and looks that it is right.
func TestLongManyVideosAreCopied(t *testing.T) {
	place(t) // or skip
	from := files.New(t)
	s, err := openAny(t.Context(), from, store.Options{Upstream: Upstream})
	if err != nil {
		t.Fatal(err)
	}
	defer func(s *store.Store) { _ = s.Close() }(s) // below, s is the last copy
	videos := 20_000
	if n, err := strconv.Atoi(os.Getenv("INGEST_TEST_VIDEOS")); err == nil { // docs/scale.md has figures for more
		videos = n
	}
	numbers := fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) `, videos)
	for _, statement := range []string{
		`INSERT INTO series (id, job, key, newest) VALUES (1, 'chart', 'US', 1771070400)`,
		`INSERT INTO channels (id, channel_id, title) ` + numbers + `SELECT i, 'UC' || i, 'channel ' || i FROM n WHERE i <= 10000`,
		`INSERT INTO video_facts (id, text_hash, video_id, channel, published_at, category, title, tags) ` + numbers + `
			SELECT i, i, 'video' || i, 1 + i % 10000, 1771070400, '10', 'word' || (i % ` + fmt.Sprint(videos/5) + `) || ' word' || (i % 777) || ' a title of some length word' || (i % 13),
			       json_array('tag' || (i % 5000), 'another tag', 'word' || (i % 99)) FROM n`,
		`INSERT INTO video_latest (id, fetched_at, seen_at, views, likes, comments) ` + numbers + `SELECT i, 1771070400000, 1771070400000, i * 31, i, NULL FROM n`,
		`INSERT INTO slots (id, series, due_at, kind, state) ` + numbers + `SELECT i, 1, 1771070400 - i, 'chart', 'done' FROM n WHERE i <= 2500`,
		`INSERT INTO placements (slot, rank, video, series, views) ` + numbers + `SELECT 1 + (i - 1) / 200 + 500 * k.value, 1 + (i - 1) % 200, 1 + (i * 7 + k.value * 13) % ` + fmt.Sprint(videos) + `, 1, i FROM n, json_each('[0,1,2,3,4]') AS k`,
	} {
		files.Exec(t, from, statement)
	}
	for _, to := range []Place{here, files} {
		name := to.New(t)
		target, err := to.Open(t.Context(), name, store.Options{Upstream: Upstream})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = target.Close() }()
		began := time.Now()
		got, err := s.CopyInto(t.Context(), target, store.CopyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for _, table := range got.Tables {
			rows += table.Rows
		}
		t.Logf("%d rows to %s: %.1f s", rows, strings.SplitN(target.Path(), ":", 2)[0], time.Since(began).Seconds())
		if r, err := target.Search(t.Context(), store.SearchQuery{Text: "word1234 title", Limit: 5}); err != nil || len(r.Items) != 5 {
			t.Errorf("a search finds %d videos, %v, want 5", len(r.Items), err)
		}
		s = target
	}
}
