package store

import "time"

// Wider is a query without one of its filters, or without all of them.
type Wider struct {
	Dropped string // region, category, min-views, published-since, published-until or seen-since; "" is all
	Query   Query
}

// Wider returns the query without each of its filters, and without all of them where it has more than one: to say what
// to leave out of a search that finds nothing. It looks for one video.
func (q Query) Wider() (wider []Wider) {
	without := func(filter string, set bool, drop func(*Query)) {
		if set {
			w := Wider{filter, q}
			w.Query.Limit = 1
			drop(&w.Query)
			wider = append(wider, w)
		}
	}
	without("region", q.Region != "", func(q *Query) { q.Region = "" })
	without("category", q.Category != "", func(q *Query) { q.Category = "" })
	without("min-views", q.MinViews > 0, func(q *Query) { q.MinViews = 0 })
	without("published-since", !q.PublishedSince.IsZero(), func(q *Query) { q.PublishedSince = time.Time{} })
	without("published-until", !q.PublishedUntil.IsZero(), func(q *Query) { q.PublishedUntil = time.Time{} })
	without("seen-since", !q.SeenSince.IsZero(), func(q *Query) { q.SeenSince = time.Time{} })
	if len(wider) > 1 {
		wider = append(wider, Wider{"", Query{Text: q.Text, Limit: 1}})
	}
	return wider
}
