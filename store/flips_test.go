package store_test

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/storetest"
	"github.com/trendvidstream/ingest/store/text"
)

func TestABitThatFlipsInTheIndexIsFoundOrChangesNoSearch(t *testing.T) { flipBits(t, 20) }

func TestLongABitThatFlipsInTheIndexIsFoundOrChangesNoSearch(t *testing.T) { flipBits(t, 250) }

// flipBits flips the given number of bits, one after the other. INDEX_FLIPS_SEED sets the seed, which is random
// otherwise.
func flipBits(t *testing.T, flips int) {
	t.Helper()
	alone(t)
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("INDEX_FLIPS_SEED"), strconv.Itoa(rand.IntN(1e6))), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	path := library(t, dir, 100)
	db := raw(t, path)
	pages := column[int](t, db, `SELECT pageno FROM dbstat WHERE name LIKE 'video\_text\_%' ESCAPE '\' ORDER BY pageno`)
	titles := column[string](t, db, `SELECT title FROM video_facts`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := checkFile(t, dir); err != nil || len(found) > 0 {
		t.Fatalf("before any flips: %q, %v, want none", found, err)
	}
	queries := someQueries(rng, titles)
	want := answers(t, dir, queries)
	byDoctor, harmless := 0, 0
	var missed []string
	for range flips {
		damaged := slices.Clone(whole)
		at := (pages[rng.IntN(len(pages))]-1)*4096 + rng.IntN(4096)
		bit := rng.IntN(8)
		damaged[at] ^= 1 << bit
		into := t.TempDir()
		if err := os.WriteFile(filepath.Join(into, store.FileName), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := checkFile(t, into)
		var corrupt *store.CorruptError
		switch {
		case len(found) > 0 || errors.As(err, &corrupt):
			byDoctor++
		case err == nil && slices.Equal(answers(t, into, queries), want):
			harmless++
		default:
			missed = append(missed, fmt.Sprintf("byte %d bit %d: %v", at, bit, err))
		}
	}
	t.Logf("INDEX_FLIPS_SEED=%d: of %d flips in %d pages %d are found and %d change nothing", seed, flips, len(pages), byDoctor, harmless)
	if good := byDoctor + harmless; storetest.Unlucky(good, flips, 0.98) {
		t.Errorf("only %d of %d are found or change nothing; missed:\n%s", good, flips, strings.Join(missed, "\n"))
	}
}

// checkFile makes doctor's checks of a store's file.
func checkFile(t *testing.T, dir string) (found []string, err error) {
	t.Helper()
	err = store.Inspect(t.Context(), dir, func(s *store.Store) error {
		if found, err = s.Check(t.Context(), 0); err != nil {
			err = errors.New(err.Error()) // doctor passes over it, and so it does not count as found
		}
		return err
	})
	return found, err
}

func TestAnIndexThatHoldsOtherWordsIsFoundAndBuiltAgain(t *testing.T) {
	dir := t.TempDir()
	path := library(t, dir, 40)
	db := raw(t, path)
	if _, err := db.ExecContext(t.Context(), `INSERT OR REPLACE INTO video_text (rowid, title, channel, tags) VALUES (3, 'gespenst', '', '')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := checkFile(t, dir)
	if err != nil || len(found) != 2 || found[0] != "video_text holds other words than 1 video has" ||
		!strings.HasPrefix(found[1], "video_text lists other videos for ") {
		t.Errorf("found %q, %v, want 2, \"video_text holds other words than 1 video has\" and \"video_text lists other videos for \" at the beginning", found, err)
	}
	if r := repair(t, dir); !slices.Equal(r.Done, []string{"emptied the index, which was damaged", "indexed 60 videos"}) || r.Broken != "" {
		t.Errorf("repaired %+v", r)
	}
	sound(t, open(t, dir, &handClock{t: noon}))
}

// someQueries returns words, pairs, phrases and beginnings from the titles.
func someQueries(rng *rand.Rand, titles []string) (queries []string) {
	for len(queries) < 120 {
		words := strings.Fields(text.Normalize(titles[rng.IntN(len(titles))]))
		if len(words) < 2 {
			continue
		}
		i := rng.IntN(len(words) - 1)
		beginning := []rune(words[i])
		queries = append(queries, words[i], words[i]+" "+words[i+1], `"`+words[i]+" "+words[i+1]+`"`, string(beginning[:1+rng.IntN(len(beginning))])+"*")
	}
	return queries
}

// answers returns the queries' results in the store of a directory; an error counts as an answer, too.
func answers(t *testing.T, dir string, queries []string) (all []string) {
	t.Helper()
	s, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream})
	if err != nil {
		return []string{err.Error()}
	}
	defer func() { _ = s.Close() }()
	for _, query := range queries {
		r, err := s.Search(t.Context(), store.SearchQuery{Text: query})
		line := fmt.Sprint(query, ": ", err)
		for _, h := range r.Items {
			line += " " + h.Video.ID
		}
		all = append(all, line)
	}
	return all
}

func column[T any](t testing.TB, db *sql.DB, query string) (all []T) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
