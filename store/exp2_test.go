package store_test
import (
	"fmt"
	"testing"
	"time"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"
	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)
func TestExp2(t *testing.T) {
	s, _ := newStore(t)
	rng := rand.New(rand.NewPCG(1,2))
	ok, n := 0, 0
	titles := map[string]string{}
	byR := map[string][]ingest.Video{}
	for _, r := range realRegions {
		c := realCharts(t, r)
		var days []string
		for d := range c { days = append(days, d) }
		slices.Sort(days)
		for _, d := range days { at, _ := time.Parse("2006-01-02", d); chart(t, s, r, at, page(c[d]...)); byR[r] = append(byR[r], c[d]...); for _, v := range c[d] { titles[v.ID] = v.Title } }
	}
	for _, r := range realRegions {
		h := 0
		for range 200 {
			v := byR[r][rng.IntN(len(byR[r]))]
			v.Title = titles[v.ID]
			ws := strings.Fields(v.Title)
			slices.SortStableFunc(ws, func(a, b string) int { return utf8.RuneCountInString(b)-utf8.RuneCountInString(a) })
			ws = slices.Compact(ws)
			if len(ws) > 2 { ws = ws[:2] }
			q := strings.Join(ws, " ")
			got := search(t, s, store.Query{Text: q, Region: ingest.Region(r), Limit: 5})
			hit := false
			for _, g := range got { if g == v.ID || titles[g] == v.Title { hit = true } }
			n++
			if hit { ok++; h++ } else { fmt.Println(r, q, "|", v.Title) }
		}
		fmt.Println(r, h)
	}
	fmt.Println(ok, n)
	for _, q := range []store.Query{{Text: "official"}, {Text:"official", Region: "IN"}, {Text:"offi*"}, {Text:"the day"}} {
		b := time.Now()
		for range 50 { search(t, s, q) }
		fmt.Println(q.Text, q.Region, time.Since(b)/50)
	}
	db := raw(t, s.Path())
	rows, err := db.Query(`select name, sum(pgsize), sum(unused) from dbstat group by 1`)
	if err != nil { t.Fatal(err) }
	for rows.Next() { var n string; var a, b int; rows.Scan(&n, &a, &b); fmt.Println(n, a, b) }
	fmt.Println(scalar[int](t, db, `select count(*) from placements`))
}
