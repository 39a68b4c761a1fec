package fetch

// How far a call that fails is narrowed down to the ids that make it fail, in calls of one pass.
const (
	// narrowBlind is the most while no part has come: then the whole, its halves and its quarters have failed,
	// which is not the fault of an id.
	narrowBlind = 7
	// narrowMost is enough for two bad ids among 50, or three.
	narrowMost = 32
)

// narrowing finds the ids that make a call fail for good: it is asked in halves, and those that fail in
// halves again, until one id fails alone. The other ids come with the halves that do not fail.
type narrowing struct {
	groups [][]string // to ask, the largest first
	calls  int        // that failed or came, since the first failure
	worked bool       // some of them came
}

func (n *narrowing) going() bool { return len(n.groups) > 0 }

// next is what to ask, and how often it is retried: what has failed is not worth many calls.
func (n *narrowing) next() (ids []string, retries int) {
	ids = n.groups[0]
	if len(ids) == 1 {
		return ids, 1
	}
	return ids, 0
}

// came is told that the call under way was answered.
func (n *narrowing) came() {
	if n.going() {
		n.groups = n.groups[1:]
		n.calls++
		n.worked = true
	}
}

// failed is told that the call for ids failed; rejected says that the upstream refused it, rather than
// failed itself. goesOn is false when no id is to blame, or too many are. giveUp is the one id to blame.
func (n *narrowing) failed(ids []string, rejected bool) (giveUp string, goesOn bool) {
	if n.going() {
		n.groups = n.groups[1:]
	} else {
		n.calls, n.worked = 0, false
	}
	n.calls++
	if len(ids) == 1 && (n.worked || rejected && n.calls == 1) {
		return ids[0], true
	}
	if len(ids) == 1 || !n.worked && n.calls >= narrowBlind || n.calls >= narrowMost {
		n.groups = nil
		return "", false
	}
	half := len(ids) / 2
	n.groups = append(n.groups, ids[:half], ids[half:])
	return "", true
}
