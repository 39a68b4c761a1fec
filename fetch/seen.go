package fetch

import "github.com/trendvidstream/ingest"

// seen counts the new ids on a list's pages, and the pages without any.
type seen struct {
	*ingest.Listing
	ids map[string]bool // that this process has seen
}

func newSeen(l *ingest.Listing) seen { return seen{l, map[string]bool{}} }

// add counts a page.
func (s *seen) add(ids []string) {
	before := len(s.ids)
	for _, id := range ids {
		s.ids[id] = true
	}
	if fresh := len(s.ids) - before; fresh > 0 {
		s.Found += fresh
		s.Idle = 0
		return
	}
	s.Idle++
	s.Empty++
}

// restart sets the counts to zero: the list is read from its first page again.
func (s *seen) restart() {
	clear(s.ids)
	s.Found, s.Idle, s.Empty, s.Total = 0, 0, 0, 0
}
