package fetch

// How far a call that fails is narrowed down to the ids that make it fail, in calls of one pass.
const (
	// narrowBlind is all, while no part of it has come: the whole, its halves and its quarters have failed
	// then, which is not the fault of an id.
	narrowBlind = 7
	// narrowMost is for two ids among 50, or three.
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

// next is what to ask, and how often at most: what has failed is not worth many tries.
func (n *narrowing) next() (ids []string, tries int) {
	ids = n.groups[0]
	if len(ids) == 1 {
		return ids, 2
	}
	return ids, 1
}

// came hears that the call under way was answered.
func (n *narrowing) came() {
	if n.going() {
		n.groups = n.groups[1:]
		n.calls++
		n.worked = true
	}
}

// failed hears that the call for ids failed; rejected says that it was refused, rather than that the
// upstream failed. goesOn is false when no id is to blame, or too many are. Where one is, give it up.
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
