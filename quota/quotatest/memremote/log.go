package memremote

import (
	"github.com/trendvidstream/ingest/quota/internal/memlog"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

type (
	log   = memlog.Log[note]
	entry = memlog.Entry[note]
)

// note is what is known of an entry that was synced.
type note struct {
	synced     int64                   // when it was, where snapshots count it from then on only
	from       int64                   // of an unattributed charge: its snapshot did not count what is older
	generation sharedledger.Generation // of that snapshot
}

// seen returns what a snapshot of the time at can have counted from begin on.
func seen(l *log, begin, at int64) (sum int64) {
	for i := l.From(begin); i < len(l.Entries) && l.Entries[i].At <= at; i++ {
		if e := l.Entries[i]; e.Note.synced <= at {
			sum += e.Amount
		}
	}
	return sum
}
