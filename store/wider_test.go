package store_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/store"
)

// Every filter that a query has is left out once, alone; a new one that is forgotten makes this fail.
func TestAWiderQueryLacksOneFilter(t *testing.T) {
	full := store.SearchQuery{
		Text: "a", Region: "US", Category: "10", MinViews: 5, PublishedSince: time.Unix(1, 0), PublishedUntil: time.Unix(9, 0),
		SeenSince: time.Unix(2, 0), Order: store.ByViews, Limit: 20, After: "cursor", At: time.Unix(3, 0),
	}
	for i, v := 0, reflect.ValueOf(full); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Fatalf("the query lacks %s", v.Type().Field(i).Name)
		}
	}
	no := map[string]int{"Text": 1, "Order": 1, "Limit": 1, "After": 1, "At": 1} // no filters
	var last store.Wider
	for _, last = range full.Wider() {
		if last.Dropped == "" {
			continue
		}
		was, is := reflect.ValueOf(full), reflect.ValueOf(last.Query)
		for i := range was.NumField() {
			if name := was.Type().Field(i).Name; !was.Field(i).Equal(is.Field(i)) && name != "Limit" {
				no[name]++
				if !is.Field(i).IsZero() {
					t.Errorf("without %s: %s is %v", last.Dropped, name, is.Field(i))
				}
			}
		}
	}
	for i := range reflect.TypeFor[store.SearchQuery]().NumField() {
		if name := reflect.TypeFor[store.SearchQuery]().Field(i).Name; no[name] != 1 {
			t.Errorf("%s is left out %d times", name, no[name])
		}
	}
	if want := (store.SearchQuery{Text: "a", Limit: 1}); last.Dropped != "" || last.Query != want {
		t.Errorf("the last is without %q: %+v", last.Dropped, last.Query)
	}
	if none := (store.SearchQuery{Text: "a", Limit: 5}).Wider(); len(none) != 0 {
		t.Errorf("a query without filters has wider ones: %v", none)
	}
}
