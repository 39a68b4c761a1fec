package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/store"
)

// A table or a column that is added to the schema must be copied too.
func TestEveryColumnIsCopied(t *testing.T) {
	s, _ := newStore(t)
	db := raw(t, s.Path())
	var want []string
	rows, err := db.QueryContext(t.Context(), `
		SELECT l.name || '.' || c.name FROM pragma_table_list AS l, pragma_table_info(l.name) AS c
		WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite%'
			AND l.name <> 'words'`) // they are made from the index
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	have := store.CopiedColumns()
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(have, want) || len(have) == 0 {
		t.Errorf("copied are\n%s\nand the tables have\n%s", strings.Join(have, " "), strings.Join(want, " "))
	}
}
